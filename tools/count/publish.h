/* SPDX-License-Identifier: MIT */
/*
 * count's counters as MPI_T performance variables: `qmpi.count.calls.MPI_X`, one for each function
 * of this MPI, so that a monitor reads them while the program runs. What a monitor resets is its
 * handle's value: the counters go on, and so does what count itself reports.
 */
#ifndef QMPI_TOOL_COUNT_PUBLISH_H
#define QMPI_TOOL_COUNT_PUBLISH_H

#include <stdbool.h>

/*
 * Has them published for a layer when MPI_T is first initialized, so that programs that never ask
 * pay nothing for hundreds of variables. From `init`. False: libqmpi would not.
 */
bool count_publish_lazily(int tool_id);

#endif
