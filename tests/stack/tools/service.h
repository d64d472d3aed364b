/* SPDX-License-Identifier: MIT */
/* The function table of the services that test tools offer, for C and C++. */
#ifndef TEST_SERVICE_H
#define TEST_SERVICE_H

#include <qmpi/service.h>

typedef struct service_table {
    int (*answer)(int offering_id); /* ten times `offering_id`, plus a digit for tool and service */
} service_table;

/* Defines typed_offer and typed_find. */
QMPIX_SERVICE(typed, "typed", 3, 2, service_table)

#endif
