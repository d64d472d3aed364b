/* SPDX-License-Identifier: MIT */
/*
 * Efficiency over time, from the windows of a result. Windows of all ranks count from the end of
 * the rank's own MPI_Init.
 */
#ifndef QMPI_PROFILE_WINDOWS_H
#define QMPI_PROFILE_WINDOWS_H

#include "profile/result.h"

/* The time of a rank in a window. */
struct profile_window {
    double profiled; /* application time */
    double mpi;      /* in MPI; the mean over threads, see profile_process.useful */
};

/*
 * Sets the windows of a rank, one after the other, from `number` 0 on. What rounding takes from a
 * window is added to the next one, so that the sum over windows is right. The arrays have room for
 * the window; start with all zero.
 */
struct profile_windows_rounding {
    double profiled, mpi;
};
void profile_window_set(struct profile_windows_rounding *rounding, struct profile_window_rank *rank,
                        double width, size_t number, struct profile_window window);

/* Returns the time of a rank in a window; 0 behind its last one. */
struct profile_window profile_window_get(const struct profile_windows *windows,
                                         const struct profile_window_rank *rank, size_t number);

/* Returns the number of windows of the rank that has most. */
size_t profile_windows_count(const struct profile_windows *windows);

/* Makes two neighbouring windows one. */
void profile_windows_widen(struct profile_windows *windows);

/* Makes the windows of both equally wide. */
void profile_windows_equalize(struct profile_windows *mine, struct profile_windows *its);

/* Efficiency as in efficiency.h, in windows from `first` to before `end`. */
struct profile_window_efficiency {
    double elapsed;       /* of the rank that was profiled longest in them */
    double parallel;      /* balance * communication */
    double balance;       /* 1 if no rank has any time outside MPI */
    double communication; /* of the rank that has most time outside MPI */
    int most_rank;        /* that one, the first one of several */
};

/* Returns false if no rank was profiled in them. */
bool profile_windows_find(const struct profile_windows *windows, size_t first, size_t end,
                          struct profile_window_efficiency *efficiency);

#endif
