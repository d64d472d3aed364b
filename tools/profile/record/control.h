/* SPDX-License-Identifier: MIT */
/*
 * The few functions that change what is profiled, or how: the begin and end of MPI, MPI_Abort,
 * MPI_Pcontrol, and those by which communicators and files come, go and get their names. They are
 * followed while profiling is off, and while the layer is switched off, too.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_CONTROL_H
#define QMPI_TOOL_PROFILE_RECORD_CONTROL_H

#include "layer.h"

#include <qmpi/observer.h>

/* Whether `number` is one of them. */
bool control_concerns(enum QMPI_Functions_enum number);

/* Around such a call. True: the call has been noted already, since the result is made before it. */
bool control_before(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word);
void control_after(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word,
                   bool counted);

/* Where a call that frees a communicator or closes a file is noted for it, since its handle means
 * nothing any more; NULL: this call is none. */
struct stats *control_stats(struct thread *thread, const QMPIX_Word *word);

#endif
