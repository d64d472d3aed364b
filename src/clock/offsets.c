/* SPDX-License-Identifier: MIT */
/* The relation to the clock of the reference process (see clock.h), which is rank 0 of `comm`:
 * measures it in MPI_Init and MPI_Finalize, and converts times by it. */
#include "clock/clock.h"
#include "clock/round_trips.h"
#include "job/job.h"
#include "process/process.h"
#include "util/util.h"

#include <qmpi/clock.h>

/* The assumed maximum relative change of a clock's rate during a run: that of a quartz changes by
 * some 0.1 ppm per degree. */
#define RATE_CHANGES 1e-6

/* Immutable once `latest` points to it. */
struct offsets {
    struct qmpi_clock_reference reference;
    struct qmpi_clock_relation relations[2];
    double tick; /* the length of a tick of this process, in nanoseconds */
    int count;   /* of relations */
};

static bool requested;
static struct offsets measured[2]; /* [0]: at the end of MPI_Init; [1]: in MPI_Finalize, with both
                                      relations */
/* NULL: not measured yet. Stored with release order by the thread that has measured, and loaded
 * with acquire order by threads that ask for a time. The structure to which it points is complete
 * and does not change. */
static const struct offsets *latest;

/* ---- Conversion ------------------------------------------------------------------------------ */

static double ticks_since(uint64_t ticks, const struct qmpi_clock_relation *relation)
{
    return (double)(int64_t)(ticks - relation->here);
}

/* Returns the time in ticks of rank 0, from the first relation alone, and sets the maximum error in
 * nanoseconds. */
static uint64_t relate_by_rate(const struct offsets *offsets, uint64_t ticks, double *bound)
{
    const struct qmpi_clock_relation *relation = &offsets->relations[0];
    const double duration = ticks_since(ticks, relation);
    *bound = relation->bound + __builtin_fabs(duration) * offsets->tick *
                                   (QMPI_RATES_DIFFER + offsets->reference.error + relation->error);
    return relation->there + (uint64_t)(int64_t)(duration * relation->rate);
}

static uint64_t interpolate_offsets(const struct offsets *offsets, uint64_t ticks, double *bound)
{
    const struct qmpi_clock_relation *first = &offsets->relations[0],
                                     *second = &offsets->relations[1];
    const double length = ticks_since(second->here, first),
                 part = ticks_since(ticks, first) / length;
    const double before = __builtin_fabs(ticks_since(ticks, first)),
                 after = __builtin_fabs(ticks_since(ticks, second));
    const double rate = (double)(int64_t)(second->there - first->there) / length;
    *bound = __builtin_fabs(1 - part) * first->bound + __builtin_fabs(part) * second->bound +
             (before < after ? before : after) * offsets->tick * RATE_CHANGES;
    return first->there + (uint64_t)(int64_t)(ticks_since(ticks, first) * rate);
}

QMPI_COMPUTES static void compute_time(const struct offsets *offsets, uint64_t ticks,
                                       uint64_t *nanoseconds, uint64_t *bound)
{
    double error = 0;
    if (!offsets->relations[0].is_reference)
        ticks = offsets->count == 1 ? relate_by_rate(offsets, ticks, &error)
                                    : interpolate_offsets(offsets, ticks, &error);
    const struct qmpi_clock_reference *reference = &offsets->reference;
    const double duration = (double)(int64_t)(ticks - reference->ticks);
    *nanoseconds = reference->nanoseconds + (uint64_t)(int64_t)(duration * reference->tick);
    if (bound)
        *bound = error > 0 ? (uint64_t)error + 1 : 0;
}

int QMPIX_Clock_get_world_time(uint64_t ticks, uint64_t *nanoseconds, uint64_t *bound)
{
    const struct offsets *offsets = __atomic_load_n(&latest, __ATOMIC_ACQUIRE);
    struct qmpi_arithmetic before;
    if (!nanoseconds)
        return MPI_ERR_ARG;
    if (!offsets)
        return MPI_ERR_OTHER;
    qmpi_arithmetic_begin(&before);
    compute_time(offsets, ticks, nanoseconds, bound);
    qmpi_arithmetic_end(&before);
    return MPI_SUCCESS;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static MPI_Comm comm;

QMPI_COMPUTES static bool measure_offsets_in_default(struct offsets *offsets)
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

static bool measure_offsets(struct offsets *offsets)
{
    struct qmpi_arithmetic before;
    qmpi_arithmetic_begin(&before);
    const bool good = measure_offsets_in_default(offsets);
    qmpi_arithmetic_end(&before);
    return good;
}

void qmpi_clock_request_offsets(void)
{
    requested = true;
    qmpi_statement_set_layer(0, "clock", NULL);
    qmpi_clock_start();
}

static int measure_after_init(int result)
{
    if (requested && result == MPI_SUCCESS && qmpi_job_create_comm(0, &comm) == MPI_SUCCESS)
        measure_offsets(&measured[0]);
    return result;
}

void qmpi_clock_finish_offsets(void)
{
    if (!latest || measured[1].count)
        return;
    measured[1] = measured[0];
    if (qmpi_job_await(0) == MPI_SUCCESS)
        measure_offsets(&measured[1]);
    QMPI_PMPI(Comm_free, COMM_FREE)(&comm);
}

/* ---- Terminators ----------------------------------------------------------------------------- */

static qmpi_function *next_init, *next_init_thread, *next_finalize;

static int measure_in_init(int *argc, char ***argv)
{
    return measure_after_init(((__typeof__(&MPI_Init))next_init)(argc, argv));
}

static int measure_in_init_thread(int *argc, char ***argv, int required, int *provided)
{
    return measure_after_init(
        ((__typeof__(&MPI_Init_thread))next_init_thread)(argc, argv, required, provided));
}

/* Measures even if the layer that requested the measurements was left out, because other processes
 * may have the layer. */
static int measure_in_finalize(void)
{
    qmpi_clock_finish_offsets();
    return ((__typeof__(&MPI_Finalize))next_finalize)();
}

void qmpi_clock_watch(qmpi_function **targets)
{
    next_init = targets[MPI_INIT_T];
    next_init_thread = targets[MPI_INIT_THREAD_T];
    next_finalize = targets[MPI_FINALIZE_T];
    targets[MPI_INIT_T] = (qmpi_function *)measure_in_init;
    targets[MPI_INIT_THREAD_T] = (qmpi_function *)measure_in_init_thread;
    targets[MPI_FINALIZE_T] = (qmpi_function *)measure_in_finalize;
}
