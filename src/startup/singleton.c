/* SPDX-License-Identifier: MIT */
/* See singleton.h. */
#include "startup/singleton.h"

#include "util/util.h"

#include <stdlib.h>

/* What the launcher of each MPI says how many it has started. Where our own's says it too, one was
 * started by the other, and which was last is unknown. */
static const char *const sizes[] = {
    [QMPI_MPI_MPICH] = "PMI_SIZE",
    [QMPI_MPI_OPEN_MPI] = "OMPI_COMM_WORLD_SIZE",
};

static qmpi_function *real_init, *real_init_thread;

static long count_launched(void)
{
    const char *value[] = {getenv(sizes[QMPI_MPI_MPICH]), getenv(sizes[QMPI_MPI_OPEN_MPI])};
    if (!value[QMPI_MPI_MPICH] == !value[QMPI_MPI_OPEN_MPI])
        return 0;
    const enum qmpi_mpi_kind others = value[QMPI_MPI_MPICH] ? QMPI_MPI_MPICH : QMPI_MPI_OPEN_MPI;
    const enum qmpi_mpi_kind mpi = qmpi_base_implementation();
    return mpi == others || mpi == QMPI_MPI_UNKNOWN ? 0 : strtol(value[others], NULL, 10);
}

static int look(int result)
{
    int size = 0;
    const struct qmpi_mpi_description *mpi = &qmpi_mpi_descriptions[qmpi_base_implementation()];
    if (result == MPI_SUCCESS && qmpi_is_reporting_process() &&
        QMPI_PMPI(Comm_size, COMM_SIZE)(MPI_COMM_WORLD, &size) == MPI_SUCCESS && size == 1)
        qmpi_printf("the launcher started %ld processes, but each of them is rank 0 of 1: the "
                    "launcher belongs to another MPI\n  hint: launch with mpiexec.%s, or with the "
                    "launcher of %s on this system",
                    count_launched(), mpi->build, mpi->build);
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
