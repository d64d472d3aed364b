/* SPDX-License-Identifier: MIT */
/* Sends clocks, without waiting for anybody. */
#ifndef QMPI_TOOL_PROFILE_PATH_SENDS_H
#define QMPI_TOOL_PROFILE_PATH_SENDS_H

#include "path/clock.h"

#include <qmpi/qmpi.h>

struct path_send {
    uint64_t value;
    MPI_Request request;
    struct path_send *next;
};

/* Sends the clock of this thread. Returns false if nothing was sent. */
bool path_send(struct path_clock *clock, MPI_Comm shadow, int dest, int tag);

/* MPI_Finalize: no send is under way any more. */
void path_sends_end(struct path_clocks *clocks);

#endif
