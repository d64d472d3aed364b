/* SPDX-License-Identifier: MIT */
/* Calls that are noted before they return, since the result is made before: MPI_Finalize and the
 * like. */
#ifndef QMPI_TOOL_PROFILE_RECORD_EARLY_H
#define QMPI_TOOL_PROFILE_RECORD_EARLY_H

#include "layer.h"

#include <qmpi/observer.h>

/* Notes such a call. */
void early_note(struct layer *layer, const QMPIX_Call *call);

/* Around what takes time in it: it is named where the process is saved meanwhile. */
void early_publish(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word);
void early_hide(struct layer *layer, const QMPIX_Word *word);

#endif
