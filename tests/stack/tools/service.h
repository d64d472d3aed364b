/* SPDX-License-Identifier: MIT */
/* The table of the services that test tools offer, as C and C++ see it. */
#ifndef TEST_SERVICE_H
#define TEST_SERVICE_H

#include <qmpi/service.h>

typedef struct service_table {
    int (*answer)(int offering_id); /* ten times the layer, and a digit for the tool */
} service_table;

/* typed_offer, typed_find */
QMPIX_SERVICE(typed, "typed", 3, 2, service_table)

#endif
