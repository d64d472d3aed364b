/* SPDX-License-Identifier: MIT */
/* See offsets.h: when it is measured, and what follows from it for other moments. */
#include "clock/offsets.h"

#include "clock/reading.h"
#include "clock/round_trips.h"
#include "process/process.h"

#include <qmpi/clock.h>

/* How much the rate of a clock may change during a run: that of a quartz does by some 0.1 ppm per
 * degree. */
#define RATE_CHANGES 1e-6

/* What was measured; not changed once it is published. */
struct offsets {
    struct qmpi_reference reference;
    struct qmpi_clock_relation relations[2];
    double tick; /* nanoseconds */
    int count;   /* of relations */
};

static bool requested;
static struct offsets measured[2];   /* after MPI_Init, before MPI_Finalize */
static const struct offsets *latest; /* NULL: none */

/* ---- At a moment ----------------------------------------------------------------------------- */

static double since(uint64_t ticks, const struct qmpi_clock_relation *relation)
{
    return (double)(int64_t)(ticks - relation->here);
}

/* Sets the ticks of rank 0's clock, and the bound in nanoseconds. */
static uint64_t relate_by_rate(const struct offsets *offsets, uint64_t ticks, double *bound)
{
    const struct qmpi_clock_relation *relation = &offsets->relations[0];
    const double duration = since(ticks, relation);
    *bound = relation->bound + __builtin_fabs(duration) * offsets->tick *
                                   (QMPI_RATES_DIFFER + offsets->reference.error + relation->error);
    return relation->there + (uint64_t)(int64_t)(duration * relation->rate);
}

static uint64_t interpolate(const struct offsets *offsets, uint64_t ticks, double *bound)
{
    const struct qmpi_clock_relation *first = &offsets->relations[0],
                                     *second = &offsets->relations[1];
    const double length = since(second->here, first), part = since(ticks, first) / length;
    const double before = __builtin_fabs(since(ticks, first)),
                 after = __builtin_fabs(since(ticks, second));
    const double rate = (double)(int64_t)(second->there - first->there) / length;
    *bound = __builtin_fabs(1 - part) * first->bound + __builtin_fabs(part) * second->bound +
             (before < after ? before : after) * offsets->tick * RATE_CHANGES;
    return first->there + (uint64_t)(int64_t)(since(ticks, first) * rate);
}

int QMPIX_Clock_get_world_time(uint64_t ticks, uint64_t *nanoseconds, uint64_t *bound)
{
    const struct offsets *offsets = __atomic_load_n(&latest, __ATOMIC_ACQUIRE);
    double error = 0;
    if (!nanoseconds)
        return MPI_ERR_ARG;
    if (!offsets)
        return MPI_ERR_OTHER;
    if (!offsets->relations[0].is_reference)
        ticks = offsets->count == 1 ? relate_by_rate(offsets, ticks, &error)
                                    : interpolate(offsets, ticks, &error);
    const struct qmpi_reference *reference = &offsets->reference;
    const double duration = (double)(int64_t)(ticks - reference->ticks);
    *nanoseconds = reference->nanoseconds + (uint64_t)(int64_t)(duration * reference->tick);
    if (bound)
        *bound = error > 0 ? (uint64_t)error + 1 : 0;
    return MPI_SUCCESS;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static MPI_Comm comm;

/* Among all processes, by PMPI: no layer sees it, and it has no attributes of the program. */
static bool make_comm(void)
{
    int rank = 0;
    QMPI_PMPI(Comm_rank, COMM_RANK)(MPI_COMM_WORLD, &rank);
    if (QMPI_PMPI(Comm_split, COMM_SPLIT)(MPI_COMM_WORLD, 0, rank, &comm) != MPI_SUCCESS)
        return false;
    QMPI_PMPI(Comm_set_errhandler, COMM_SET_ERRHANDLER)(comm, MPI_ERRORS_RETURN);
    return true;
}

static bool measure(struct offsets *offsets)
{
    const struct qmpi_clock_tick tick = qmpi_clock_refine();
    struct qmpi_clock_relation *relation = &offsets->relations[offsets->count];
    offsets->tick = tick.nanoseconds;
    if (!qmpi_round_trips(comm, tick, &offsets->reference, relation))
        return false;
    offsets->count++;
    __atomic_store_n(&latest, offsets, __ATOMIC_RELEASE);
    return true;
}

void qmpi_offsets_request(void)
{
    requested = true;
    qmpi_clock_start();
}

static int begin(int result)
{
    if (requested && result == MPI_SUCCESS && make_comm())
        measure(&measured[0]);
    return result;
}

void qmpi_offsets_finish(void)
{
    if (!latest || measured[1].count)
        return;
    measured[1] = measured[0];
    measure(&measured[1]);
    QMPI_PMPI(Comm_free, COMM_FREE)(&comm);
}

/* ---- The end of the chains ------------------------------------------------------------------- */

static qmpi_function *next_init, *next_init_thread, *next_finalize;

static int init(int *argc, char ***argv)
{
    return begin(((__typeof__(&MPI_Init))next_init)(argc, argv));
}

static int init_thread(int *argc, char ***argv, int required, int *provided)
{
    return begin(((__typeof__(&MPI_Init_thread))next_init_thread)(argc, argv, required, provided));
}

/* For a layer that requested it and was left out then: the other processes may still have it. */
static int finalize(void)
{
    qmpi_offsets_finish();
    return ((__typeof__(&MPI_Finalize))next_finalize)();
}

void qmpi_offsets_watch(qmpi_function **terminators)
{
    next_init = terminators[MPI_INIT_T];
    next_init_thread = terminators[MPI_INIT_THREAD_T];
    next_finalize = terminators[MPI_FINALIZE_T];
    terminators[MPI_INIT_T] = (qmpi_function *)init;
    terminators[MPI_INIT_THREAD_T] = (qmpi_function *)init_thread;
    terminators[MPI_FINALIZE_T] = (qmpi_function *)finalize;
}
