/* SPDX-License-Identifier: MIT */
/*
 * The communicators of a layer. A live one has a number, under which each thread notes its calls;
 * when it is freed these go to all freed ones of its name and processes, and the number to the next
 * communicator. So memory is bound by the communicators alive and by the different names.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_COMMS_H
#define QMPI_TOOL_PROFILE_RECORD_COMMS_H

#include "record/flights_seen.h"
#include "record/tables.h"
#include "toolkit/toolkit.h"

#include <qmpi/qmpi.h>

struct layer;

bool comms_make(struct comms *comms);

/* Where all ranks are counted: after MPI_Init, or with the first session. Until comms_end. */
void comms_begin(struct layer *layer, MPI_Session session);

/* Gives back what MPI gave. `read_names`: before that it reads the names of the live ones once
 * more, for they may be set behind our back. For MPI_Finalize and the last session's end. */
void comms_end(struct layer *layer, bool read_names);

/* The number of a communicator that a call was just made on with success; -1: it has none. */
int comms_meet(struct layer *layer, MPI_Comm comm);

/* The number of a communicator if it is known already; else -1. */
static inline int comms_find(const struct comms *comms, MPI_Comm comm)
{
    return handles_find(&comms->handles, HANDLE_WORD(comm));
}

/* MPI_Comm_set_name was called. */
void comms_rename(struct layer *layer, MPI_Comm comm, const char *name);

/* Around MPI_Comm_free and MPI_Comm_disconnect: before it, when its name can still be read and its
 * handle is not yet another one's, and after it. `number` is what the first gave. */
int comms_begin_free(struct layer *layer, MPI_Comm comm);
void comms_free(struct layer *layer, int number);

/* All communicators of one name and the same processes as one, live and freed, with the calls under
 * way. Under the layer's
 * lock. The table's rows are struct freed_comm; the caller frees it. False: memory is out. */
bool comms_sum(struct layer *layer, const struct flights_seen *flights, struct table *sum);

#endif
