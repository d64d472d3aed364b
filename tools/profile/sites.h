/* SPDX-License-Identifier: MIT */
/* Call sites: where in the program a call was made, as one frame or as several. */
#ifndef QMPI_PROFILE_SITES_H
#define QMPI_PROFILE_SITES_H

#include "threads.h"

#include <qmpi/observer.h>

/* To be called once, before the first call. */
void sites_start(void);

/* What this thread has noted for the place that the call comes from; NULL: memory is out. */
struct stats *sites_find(struct thread *thread, const QMPIX_Call *call, int depth);

#endif
