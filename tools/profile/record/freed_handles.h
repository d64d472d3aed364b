/* SPDX-License-Identifier: MIT */
/*
 * Handles that a call under way gives back: MPI_Comm_free, MPI_Comm_disconnect, MPI_File_close.
 * Callbacks of attributes may free others from within: a few at a time.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_FREED_HANDLES_H
#define QMPI_TOOL_PROFILE_RECORD_FREED_HANDLES_H

#include "layer.h"

#include <qmpi/observer.h>

/* Before the call. `number` is that of the communicator or file; negative: there is nothing to do.
 */
void freed_handles_add(struct layer *layer, const QMPIX_Word *word, bool is_file, int number,
                       uint64_t handle);

/* Where such a call is noted for its communicator or file, since the handle means nothing any more;
 * NULL: this call is none. */
struct stats *freed_handles_stats(struct thread *thread, const QMPIX_Word *word);

/* After the call. If it failed, the handle is as good as before. */
void freed_handles_end(struct layer *layer, const QMPIX_Word *word, bool succeeded);

#endif
