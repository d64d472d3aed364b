/* SPDX-License-Identifier: MIT */
/* What calls change for the log itself: the beginning and end of MPI, names, and handles that go.
 */
#ifndef QMPI_TOOL_LOG_LIFECYCLE_H
#define QMPI_TOOL_LOG_LIFECYCLE_H

#include "layer.h"

#include <qmpi/observer.h>

/* Whether a function is followed, whatever functions= says. */
bool lifecycle_concerns(const QMPIX_Function *function);

/* Whether it ends MPI or a session: the lines should be in the file then. */
bool lifecycle_ends(const QMPIX_Function *function);

void lifecycle_before(struct layer *layer, const QMPIX_Call *call);
void lifecycle_after(struct layer *layer, const QMPIX_Call *call);

#endif
