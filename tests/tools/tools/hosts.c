/* SPDX-License-Identifier: MIT */
/* A preloaded library by which ranks seem to run on other machines: the environment variable HOSTS
 * contains a host name for each rank, separated by commas. A rank without a name is on `here`. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((visibility("default"))) int gethostname(char *name, size_t size)
{
    const char *rank = getenv("PMI_RANK"), *list = getenv("HOSTS");
    if (!rank)
        rank = getenv("OMPI_COMM_WORLD_RANK");
    for (int i = rank ? atoi(rank) : 0; list && i > 0; i--) {
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    if (size)
        snprintf(name, size, "%.*s", list ? (int)strcspn(list, ",") : 4, list ? list : "here");
    return 0;
}
