/* SPDX-License-Identifier: MIT */
/*
 * A PMPI tool that opens a library. Environment variables control it:
 *   TEST_OWN      the path of the library
 *   TEST_OPENS    when the tool opens it: in each MPI_Barrier (`barrier`), in MPI_Init (any other
 *                 value), or in its constructor (not set)
 *   TEST_CLOSES   if set, the tool closes the library again in MPI_Init
 * The constructor first calls the program's function `program_turn`, if there is one.
 * In MPI_Comm_rank, the tool prints the result of the library's function `next_number`, if there is
 * one. In MPI_Barrier, it calls the library's function `make_calls`, if there is one.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <mpi.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void *handle;
static int (*next_number)(void);
static void (*make_calls)(int count);

static void open_library(void)
{
    const char *library = getenv("TEST_OWN");
    if (!library)
        return;
    handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
        trace("opens: %s", dlerror());
        return;
    }
    next_number = (int (*)(void))(uintptr_t)dlsym(handle, "next_number");
    make_calls = (void (*)(int))(uintptr_t)dlsym(handle, "make_calls");
    trace("opens %s", next_number || make_calls ? "a library" : "another library");
}

static int opens_in_barrier(void)
{
    const char *when = getenv("TEST_OPENS");
    return when && !strcmp(when, "barrier");
}

__attribute__((constructor)) static void begin(void)
{
    void (*turn)(void) = (void (*)(void))(uintptr_t)dlsym(RTLD_DEFAULT, "program_turn");
    if (turn)
        turn();
    if (!getenv("TEST_OPENS"))
        open_library();
}

int MPI_Init(int *argc, char ***argv)
{
    if (getenv("TEST_OPENS") && !opens_in_barrier())
        open_library();
    if (next_number)
        next_number();
    if (handle && getenv("TEST_CLOSES")) {
        next_number = NULL;
        make_calls = NULL;
        dlclose(handle);
    }
    return PMPI_Init(argc, argv);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    trace("opens MPI_Comm_rank %d", next_number ? next_number() : 0);
    return PMPI_Comm_rank(comm, rank);
}

int MPI_Barrier(MPI_Comm comm)
{
    trace("opens MPI_Barrier");
    if (opens_in_barrier())
        open_library();
    if (make_calls)
        make_calls(2);
    return PMPI_Barrier(comm);
}
