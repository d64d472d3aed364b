/* SPDX-License-Identifier: MIT */
/* Switches layers off and on while the program runs. */
#ifndef QMPI_STARTUP_SWITCH_H
#define QMPI_STARTUP_SWITCH_H

#include <stdbool.h>

/*
 * Switches a layer off or on, and returns the errors of QMPIX_Tool_set_enabled. Any thread.
 */
int qmpi_chain_set_enabled(int tool_id, bool enabled);

/* Removes a layer that is left out of the stack: it is not notified of switches. */
void qmpi_chain_leave_out(int tool_id);

/* Whether a layer is on; false if it does not exist. Any thread. */
bool qmpi_chain_is_enabled(int tool_id);

#endif
