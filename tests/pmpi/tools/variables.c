/* SPDX-License-Identifier: MIT */
/* A tool that reads TEST_SET and TEST_UNSET from the environment in each of its functions. */
#define _GNU_SOURCE
#include "trace.h"

#include <mpi.h>
#include <stdlib.h>

static const char *shown(const char *value)
{
    return value ? value : "(none)";
}

static void note(const char *when)
{
    trace("%s %s: %s %s, secure %s", TOOL, when, shown(getenv("TEST_SET")),
          shown(getenv("TEST_UNSET")), shown(secure_getenv("TEST_SET")));
}

__attribute__((constructor)) static void begin(void)
{
    note("constructor");
}

int MPI_Init(int *argc, char ***argv)
{
    note("MPI_Init");
    return PMPI_Init(argc, argv);
}

int MPI_Finalize(void)
{
    note("MPI_Finalize");
    return PMPI_Finalize();
}
