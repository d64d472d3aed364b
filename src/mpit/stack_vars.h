/* SPDX-License-Identifier: MIT */
/* Variables of the dispatcher: the stack, and a category for each layer. */
#ifndef QMPI_MPIT_STACK_VARS_H
#define QMPI_MPIT_STACK_VARS_H

#include <stdbool.h>

/* Sets the functions that query and switch layers: see QMPIX_Tool_set_enabled. Called before all
 * others.
 */
void qmpi_mpit_use_switch(bool (*is_enabled)(int tool_id),
                          int (*set_enabled)(int tool_id, bool enabled));

/* Publishes the variables of the dispatcher on demand; called when all layers exist. */
void qmpi_mpit_publish_stack(void);

#endif
