/* SPDX-License-Identifier: MIT */
/* Layers that are switched off and on while the program runs. */
#ifndef QMPI_STARTUP_SWITCH_H
#define QMPI_STARTUP_SWITCH_H

#include <stdbool.h>

/*
 * Switches a layer off, or on again: see QMPIX_Tool_set_enabled, whose errors they are. Any thread.
 */
int qmpi_chain_set_enabled(int tool_id, bool enabled);

/* The layer has no place in the stack after all: it is not told of switches. */
void qmpi_chain_leave_out(int tool_id);

/* Whether a layer is on; a layer that does not exist is not. Any thread. */
bool qmpi_chain_is_enabled(int tool_id);

#endif
