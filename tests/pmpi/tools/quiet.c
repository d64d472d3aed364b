/* SPDX-License-Identifier: MIT */
/* Passes calls on without output, for programs whose signal handlers make thousands of calls. If
 * BINDING is 5, the next function is looked up by dlsym in each call. */
#define _GNU_SOURCE
#include <mpi.h>

#include <dlfcn.h>

#if BINDING == 5
#define NEXT(X) ((__typeof__(&MPI_##X))dlsym(RTLD_NEXT, "PMPI_" #X))
#else
#define NEXT(X) PMPI_##X
#endif

#define PASS(RESULT, X, PARAMETERS, ARGUMENTS)                                                     \
    RESULT MPI_##X PARAMETERS                                                                      \
    {                                                                                              \
        return NEXT(X) ARGUMENTS;                                                                  \
    }

PASS(double, Wtime, (void), ())
PASS(int, Comm_rank, (MPI_Comm comm, int *rank), (comm, rank))
PASS(int, Comm_size, (MPI_Comm comm, int *size), (comm, size))
PASS(int, Get_processor_name, (char *name, int *length), (name, length))
PASS(int, Sendrecv,
     (const void *sent, int send_count, MPI_Datatype send_type, int to, int send_tag,
      void *received, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
      MPI_Status *status),
     (sent, send_count, send_type, to, send_tag, received, count, type, from, tag, comm, status))
PASS(int, T_pvar_read, (MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buffer),
     (session, handle, buffer))
