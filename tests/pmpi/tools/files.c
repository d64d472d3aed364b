/* SPDX-License-Identifier: MIT */
/* A tool that also replaces the functions open and fopen, which do not belong to MPI, as Darshan
 * does. */
#define _GNU_SOURCE
#include "trace.h"

#include <mpi.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

/* Prints only files of the tests, because libraries open many other files. */
static void note(const char *function, const char *path)
{
    if (strstr(path, "test-data"))
        trace("%s %s %s", TOOL, function, strrchr(path, '/') + 1);
}

int open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const int mode = flags & O_CREAT ? va_arg(list, int) : 0;
    va_end(list);
    note("open", path);
    return ((int (*)(const char *, int, ...))(uintptr_t)dlsym(RTLD_NEXT, "open"))(path, flags,
                                                                                  mode);
}

FILE *fopen(const char *path, const char *mode)
{
    note("fopen", path);
    return ((FILE * (*)(const char *, const char *))(uintptr_t)dlsym(RTLD_NEXT, "fopen"))(path,
                                                                                          mode);
}

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    trace("%s MPI_Comm_rank", TOOL);
    return PMPI_Comm_rank(comm, rank);
}
