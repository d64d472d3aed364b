/* SPDX-License-Identifier: MIT */
/*
 * A library that calls dlsym. It replaces getppid and calls the next getppid, and defines a
 * function whose name begins like those of MPI. RTLD_NEXT must mean the libraries after this one,
 * although libqmpi replaces dlsym. The constructor also calls dlsym; if the library is preloaded
 * behind libqmpi, this happens before the constructors of libqmpi have run. With IS_TOOL, the
 * library is a tool that wraps MPI_Comm_rank.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static const char *library_of(const void *address)
{
    Dl_info info;
    if (!address || !dladdr(address, &info))
        return "nowhere";
    const char *slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

static void note(const char *when)
{
    void *self = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    trace("%s %s: next getppid in %s, next malloc in %s, next MPI_None in %s", TOOL, when,
          library_of(dlsym(RTLD_NEXT, "getppid")), library_of(dlsym(RTLD_NEXT, "malloc")),
          library_of(dlsym(RTLD_NEXT, "MPI_None")));
    trace("%s %s: next PMPI_None in %s, libc's malloc in %s, its MPI_Init in %s", TOOL, when,
          library_of(dlsym(RTLD_NEXT, "PMPI_None")), library_of(dlsym(self, "malloc")),
          library_of(dlsym(self, "MPI_Init")));
}

pid_t getppid(void)
{
    trace("%s getppid", TOOL);
    return ((pid_t(*)(void))(uintptr_t)dlsym(RTLD_NEXT, "getppid"))();
}

int PMPI_None(void);
int PMPI_None(void)
{
    trace("%s PMPI_None", TOOL);
    return 1;
}

__attribute__((constructor)) static void begin(void)
{
    note("constructor");
}

#ifdef IS_TOOL
#include <mpi.h>

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    note("MPI_Comm_rank");
    return PMPI_Comm_rank(comm, rank);
}
#endif
