/* SPDX-License-Identifier: MIT */
/* What the dispatcher itself publishes: the stack, and for each layer its category. */
#ifndef QMPI_MPIT_STACK_VARS_H
#define QMPI_MPIT_STACK_VARS_H

#include <stdbool.h>

/* How a layer is asked whether it is on, and switched: see QMPIX_Tool_set_enabled. Before all else.
 */
void qmpi_mpit_use_switch(bool (*is_enabled)(int tool_id),
                          int (*set_enabled)(int tool_id, bool enabled));

/* Once all layers are there: publishes what the dispatcher says of them. */
void qmpi_mpit_publish_stack(void);

#endif
