/* SPDX-License-Identifier: MIT */
/* Identifies the MPI library, at run time if the program is compiled with the mpi.h of the standard
 * ABI. Names two control variables of the library: LIBRARY_CVAR is a writable int; the layer
 * `publisher` also publishes a variable with the name TAKEN_NAME. */
#ifndef LIBRARY_NAMES_H
#define LIBRARY_NAMES_H

#include <mpi.h>
#include <string.h>

static inline int is_open_mpi(void)
{
#if defined(OPEN_MPI)
    return 1;
#elif defined(MPICH_VERSION)
    return 0;
#else
    static int answer = -1;
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    if (answer < 0)
        answer = PMPI_Get_library_version(version, &length) == MPI_SUCCESS &&
                 strstr(version, "Open MPI") != NULL;
    return answer;
#endif
}

#define LIBRARY_CVAR                                                                               \
    (is_open_mpi() ? "coll_tuned_allreduce_algorithm_segmentsize"                                  \
                   : "MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE")
#define TAKEN_NAME                                                                                 \
    (is_open_mpi() ? "coll_tuned_bcast_algorithm_segmentsize" : "MPIR_CVAR_ENABLE_HCOLL")

#endif
