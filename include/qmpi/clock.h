/* SPDX-License-Identifier: MIT */
/*
 * The clock of this process, and its relation to the clock of rank 0.
 *
 *     uint64_t begin, end, time, bound;
 *     QMPIX_Clock_get_time(&begin);
 *     …
 *     QMPIX_Clock_get_time(&end);
 *     QMPIX_Clock_to_nanoseconds(end - begin, &time);
 *
 * A reading is a number of ticks, which has a meaning in this process only. The clock is the cycle
 * counter of the processor if it has a constant rate that is the same on all cores, otherwise
 * CLOCK_MONOTONIC; QMPI_CLOCK chooses (see qmpi(1)). All layers of a process have the same clock.
 * The clock is started when it is first used, which takes some 20 microseconds.
 *
 * To compare times of different processes, convert them by QMPIX_Clock_get_world_time, which gives
 * the time on the clock of rank 0 of MPI_COMM_WORLD. The relation of the clocks is measured only if
 * a layer calls QMPIX_Clock_request_offsets.
 *
 * All calls return an error class, do not invoke error handlers, and set outputs only on success.
 * Unless their descriptions say otherwise, they may be made by any thread, and in any callback.
 * Neither the MPI standard nor the draft of the Tools Working Group defines them; MPI_Wtime and
 * MPI_WTIME_IS_GLOBAL (MPI 4.0, section "Timers and Synchronization") are what the standard offers.
 */
#ifndef QMPI_CLOCK_H
#define QMPI_CLOCK_H

#include <qmpi/qmpi.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns the current time in ticks. May be called as soon as `init` of any layer has been called,
 * also in a signal handler. MPI_ERR_ARG: `ticks` is NULL.
 */
QMPI_API int QMPIX_Clock_get_time(uint64_t *ticks);

/*
 * Converts a difference of two readings to nanoseconds. The error is at most about the time that a
 * few readings take. To keep the error that small, the call first measures the length of a tick
 * again if the time to convert is more than twice as long as the interval of the last measurement.
 * A measurement covers the whole time since the clock was started, and takes half a microsecond.
 * May be called in a signal handler, like QMPIX_Clock_get_time. MPI_ERR_ARG: `nanoseconds` is NULL.
 */
QMPI_API int QMPIX_Clock_to_nanoseconds(uint64_t ticks, uint64_t *nanoseconds);

/* Properties of the clock. */
typedef struct QMPIX_Clock_info {
    size_t size;       /* sizeof(QMPIX_Clock_info); set by the caller */
    const char *name;  /* "tsc" or "monotonic", as in QMPI_CLOCK */
    double tick;       /* the length of a tick, in nanoseconds */
    double resolution; /* the smallest difference between two times, in nanoseconds */
    double cost;       /* the time that a reading takes in libqmpi, in nanoseconds */
} QMPIX_Clock_info;

/*
 * Returns the properties of the clock. The length of a tick is determined from the time since the
 * clock was started, so the later the call is made, the more accurate it is: to about 0.01 % after
 * 1 millisecond, and to 0.1 ppm after a second. In the first millisecond after the start, the call
 * waits until this millisecond is over, unless the clock is CLOCK_MONOTONIC; later calls take some
 * 20 microseconds. May be called in a signal handler, like QMPIX_Clock_get_time. MPI_ERR_ARG:
 * `info` is NULL, or its `size` is too small.
 */
QMPI_API int QMPIX_Clock_get_info(QMPIX_Clock_info *info);

/*
 * Requests, from `init`, that the relation of this process's clock to rank 0's be measured. The
 * relation is measured twice: at the end of MPI_Init or MPI_Init_thread, before it returns to any
 * layer, and at the beginning of MPI_Finalize, before the first callback `before` of any layer.
 * However many layers request it, there are only these two measurements in a process. Pairs of
 * processes measure at the same time, so the duration grows with the logarithm of the number of
 * processes; with 2 processes on one machine, it is less than a millisecond. The messages use a
 * private communicator, and no layer sees them.
 *
 * The measurement is collective over MPI_COMM_WORLD. The layer must be in the stacks of all
 * processes of MPI_COMM_WORLD, with the same layers below it; otherwise, MPI_Init may not return.
 * The layer gets MPI_Finalize even while it is switched off (see QMPIX_Tool_keep_function), so it
 * may be switched off and on in single processes. Call this function when nothing more can fail in
 * `init`. MPI_ERR_ARG: no such layer. MPI_ERR_OTHER: not called from `init` for the layer that is
 * being initialized.
 */
QMPI_API int QMPIX_Clock_request_offsets(int tool_id);

/*
 * Converts a reading to the time on the clock of rank 0 of MPI_COMM_WORLD, in nanoseconds since an
 * arbitrary moment that is the same in all processes of this MPI_COMM_WORLD. `bound` is set to the
 * number of nanoseconds by which the time may be wrong; `bound` may be NULL. May be called in a
 * signal handler.
 *
 * Processes that were spawned (MPI_Comm_spawn) have another MPI_COMM_WORLD, with a rank 0 of its
 * own, and compare their clocks among themselves in their MPI_Init. Times of different worlds
 * cannot be compared.
 *
 * Processes that read the same clock, such as those of a node, get exactly the same time for the
 * same moment, and the same bound, which is 0 on the node of rank 0. Therefore, their times never
 * show that a message was received before it was sent. Between other clocks, an offset that is
 * smaller than its bound counts as 0.
 *
 * The clock is compared with rank 0's through other processes: one for each doubling of the number
 * of nodes. Each of these processes adds to the bound half the time of the shortest of several
 * round trips. Until MPI_Finalize, there is only the first measurement, and the bound grows by 500
 * ns per millisecond after it, because the rates of two clocks may differ by that much. From
 * MPI_Finalize on, times between the two measurements are interpolated linearly, so that a constant
 * difference of rates has no effect; the bound allows for a rate that changes by 1 ppm. A reading
 * that is converted both before and after the second measurement may give two different times.
 *
 * MPI_ERR_ARG: `nanoseconds` is NULL. MPI_ERR_OTHER: nothing has been measured: no layer has called
 * QMPIX_Clock_request_offsets, MPI_Init has not ended yet, the program uses only sessions, or an
 * MPI call failed.
 */
QMPI_API int QMPIX_Clock_get_world_time(uint64_t ticks, uint64_t *nanoseconds, uint64_t *bound);

#ifdef __cplusplus
}
#endif
#endif
