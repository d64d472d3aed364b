/* SPDX-License-Identifier: MIT */
/* Prints the variables SHOWN, HIDDEN and PLAIN in MPI_Init, as getenv, secure_getenv and environ
 * return them. */
#define _GNU_SOURCE
#include "trace.h"

#include <mpi.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns the value in environ, "none" if the variable is not in it, or "twice" if it is in it
 * twice. */
static const char *listed(const char *name)
{
    const char *value = "none";
    const size_t length = strlen(name);
    for (char **variable = environ; *variable; variable++) {
        if (!strncmp(*variable, name, length) && (*variable)[length] == '=')
            value = strcmp(value, "none") ? "twice" : *variable + length + 1;
    }
    return value;
}

static const char *or_none(const char *value)
{
    return value ? value : "none";
}

int MPI_Init(int *argc, char ***argv)
{
    static const char *const names[] = {"SHOWN", "HIDDEN", "PLAIN"};
    for (int i = 0; i < 3; i++)
        trace("%s: %s is %s, %s, %s", TOOL, names[i], or_none(getenv(names[i])),
              or_none(secure_getenv(names[i])), listed(names[i]));
    return PMPI_Init(argc, argv);
}
