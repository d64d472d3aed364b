/* SPDX-License-Identifier: MIT */
/* What the dispatcher itself publishes: the stack, and for each layer its category. */
#ifndef QMPI_MPIT_STACK_H
#define QMPI_MPIT_STACK_H

#include "mpit/index.h"

/* Publishes what the dispatcher says of a layer, into its new category. */
void qmpi_mpit_publish_layer(int tool_id, struct qmpi_mpit_category *category);

#endif
