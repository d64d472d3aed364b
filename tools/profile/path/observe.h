/* SPDX-License-Identifier: MIT */
/*
 * path=yes: the length of the critical path of the run, by logical clocks (clock.h) that are sent
 * along with the messages of the program. These are the callbacks of a layer with this option: they
 * follow the clocks, and call those of record.h. What the clocks cost is part of the calls' time.
 */
#ifndef QMPI_TOOL_PROFILE_PATH_OBSERVE_H
#define QMPI_TOOL_PROFILE_PATH_OBSERVE_H

#include <qmpi/observer.h>

#include <stdbool.h>

struct layer;

/* In `init`. Returns false if memory is exhausted. */
bool path_start(struct layer *layer);

void path_observe_before(const QMPIX_Call *call, QMPIX_Word *word);
void path_observe_after(const QMPIX_Call *call, QMPIX_Word *word);

#endif
