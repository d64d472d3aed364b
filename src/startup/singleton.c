/* SPDX-License-Identifier: MIT */
/* See singleton.h. */
#include "startup/singleton.h"

#include "generate/build.h"
#include "util/util.h"

#include <stdlib.h>

/* What the launcher of each MPI says how many it has started. Where our own's says it too, one was
 * started by the other, and which was last is unknown. */
#define MPICHS "PMI_SIZE"
#define OPEN_MPIS "OMPI_COMM_WORLD_SIZE"
#ifdef OPEN_MPI
static const char this_mpi[] = OPEN_MPIS, others[] = MPICHS;
#else
static const char this_mpi[] = MPICHS, others[] = OPEN_MPIS;
#endif

static qmpi_function *real_init, *real_init_thread;

static long count_launched(void)
{
    const char *value = getenv(this_mpi) ? NULL : getenv(others);
    return value ? strtol(value, NULL, 10) : 0;
}

static int look(int result)
{
    int size = 0;
    if (result == MPI_SUCCESS && qmpi_is_reporting_process() &&
        QMPI_PMPI(Comm_size, COMM_SIZE)(MPI_COMM_WORLD, &size) == MPI_SUCCESS && size == 1)
        qmpi_printf("the launcher started %ld processes, but each of them is rank 0 of 1: the "
                    "launcher belongs to another MPI\n  hint: launch with mpiexec.%s, or with the "
                    "launcher of %s on this system",
                    count_launched(), QMPI_MPI, QMPI_MPI);
    return result;
}

static int init(int *argc, char ***argv)
{
    return look(((__typeof__(&MPI_Init))real_init)(argc, argv));
}

static int init_thread(int *argc, char ***argv, int required, int *provided)
{
    return look(((__typeof__(&MPI_Init_thread))real_init_thread)(argc, argv, required, provided));
}

void qmpi_singleton_watch(qmpi_function **terminators)
{
    if (count_launched() < 2)
        return;
    real_init = terminators[MPI_INIT_T];
    real_init_thread = terminators[MPI_INIT_THREAD_T];
    terminators[MPI_INIT_T] = (qmpi_function *)init;
    terminators[MPI_INIT_THREAD_T] = (qmpi_function *)init_thread;
}
