/* SPDX-License-Identifier: MIT */
/*
 * The environment variable that lists the tools. Users of MPICH's QMPI have one of MPICH's set
 * already: it is read where ours is not set at all. An empty QMPI_TOOLS is a stack without layers.
 */
#define _GNU_SOURCE
#include "dialect.h"
#include "message.h"

#include <stdlib.h>

const char *qmpi_dialect_stack(const char **variable)
{
    /* In the order in which MPICH has them: of its own two the first one wins there. */
    static const char *const names[] = {"QMPI_TOOLS", "MPIR_CVAR_QMPI_TOOL_LIST",
                                        "MPICH_QMPI_TOOL_LIST"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *variable = names[i];
        if (secure_getenv(names[i]))
            return qmpi_getenv(names[i]);
    }
    *variable = names[0];
    return NULL;
}
