/* SPDX-License-Identifier: MIT */
/*
 * A program that knows no MPI. It loads a plugin that does, and calls it: plugin_host PLUGIN HOW
 * ARGUMENT, where HOW is local or global. As Fortran procedures are called without arguments, they
 * take ARGUMENT from REACH_FOLDER.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 4)
        return 96;
    if (dlsym(RTLD_DEFAULT, "PMPI_Get_library_version") && !getenv("LD_PRELOAD")) {
        fprintf(stderr, "the program that shall have no MPI has one\n");
        return 94;
    }
    setenv("REACH_FOLDER", argv[3], 1);
    void *plugin =
        dlopen(argv[1], RTLD_NOW | (strcmp(argv[2], "global") ? RTLD_LOCAL : RTLD_GLOBAL));
    int (*exchange)(int, char **) =
        plugin ? (int (*)(int, char **))(uintptr_t)dlsym(plugin, "exchange") : NULL;
    if (!exchange) {
        fprintf(stderr, "%s\n", dlerror());
        return 95;
    }
    char *arguments[] = {argv[0], argv[3], NULL};
    return exchange(2, arguments);
}
