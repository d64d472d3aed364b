/* SPDX-License-Identifier: MIT */
/*
 * A tool that makes its own calls by MPI_X instead of PMPI_X: its wrapper of MPI_Barrier calls
 * MPI_Comm_rank, which the tool wraps, and MPI_Comm_size, which it does not wrap. SELF selects how
 * it finds these functions.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>

#define BY_CALL 1
#define BY_TABLE 2
#define BY_DEFAULT 3 /* dlsym(RTLD_DEFAULT) */
#define BY_HANDLE 4  /* dlsym with its own handle */

typedef int ask(MPI_Comm comm, int *number);

struct table {
    ask *rank, *size;
};
extern struct table self_table;
struct table self_table = {MPI_Comm_rank, MPI_Comm_size};

static void *self_handle(void)
{
    Dl_info info;
    return dladdr(&self_table, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}

#if SELF == BY_CALL
#define ASK_RANK MPI_Comm_rank
#define ASK_SIZE MPI_Comm_size
#elif SELF == BY_TABLE
#define ASK_RANK self_table.rank
#define ASK_SIZE self_table.size
#elif SELF == BY_DEFAULT
#define ASK_RANK ((ask *)(uintptr_t)dlsym(RTLD_DEFAULT, "MPI_Comm_rank"))
#define ASK_SIZE ((ask *)(uintptr_t)dlsym(RTLD_DEFAULT, "MPI_Comm_size"))
#else
#define ASK_RANK ((ask *)(uintptr_t)dlsym(self_handle(), "MPI_Comm_rank"))
#define ASK_SIZE ((ask *)(uintptr_t)dlsym(self_handle(), "MPI_Comm_size"))
#endif

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    trace("%s MPI_Comm_rank", TOOL);
    return PMPI_Comm_rank(comm, rank);
}

int MPI_Barrier(MPI_Comm comm)
{
    int rank = -1, size = -1;
    trace("%s MPI_Barrier", TOOL);
    (void)self_handle;
    ASK_RANK(comm, &rank);
    ASK_SIZE(comm, &size);
    trace("%s is rank %d of %d", TOOL, rank, size);
    return PMPI_Barrier(comm);
}
