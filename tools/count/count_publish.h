/* SPDX-License-Identifier: MIT */
/*
 * count's counters as MPI_T performance variables: `qmpi.count.calls.MPI_X`, one for each function
 * of this MPI, so that a monitor reads them while the program runs. What a monitor resets is its
 * handle's value: the counters go on, and so does what count itself reports.
 */
#ifndef QMPI_COUNT_PUBLISH_H
#define QMPI_COUNT_PUBLISH_H

#include <qmpi/qmpi.h>

/*
 * The interceptor of MPI_T_init_thread: publishes them when MPI_T is first asked for, so that
 * programs that never ask pay nothing for hundreds of variables.
 */
int count_publish_init_thread(QMPI_Context context, int required, int *provided);

#endif
