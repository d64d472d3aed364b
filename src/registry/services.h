/* SPDX-License-Identifier: MIT */
/*
 * Services that layers offer to each other: see <qmpi/service.h>. A layer offers them in its init;
 * they do not change later, so they are found without a lock.
 */
#ifndef QMPI_REGISTRY_SERVICES_H
#define QMPI_REGISTRY_SERVICES_H

#include <stdbool.h>

/* Sets the function that tells whether a layer is on. Until then, all layers are on. */
void qmpi_service_use_switch(bool (*is_enabled)(int tool_id));

/* Calls each callback of QMPIX_Service_watch for which QMPIX_Service_find now gives another result
 * than at the last call of this callback. The caller must hold no lock, because callbacks may
 * switch layers. */
void qmpi_service_notify(void);

/* Returns the name of a layer's first service that matches a pattern, or NULL if there is none. */
const char *qmpi_service_matching(int tool_id, const char *pattern);

#endif
