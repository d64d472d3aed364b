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

/* Around such a call (traits.h: is_controlled). True: the call has been noted already, since the
 * result is made before it. */
bool control_before(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word);
void control_after(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word,
                   bool counted, uint64_t time);

#endif
