/* SPDX-License-Identifier: MIT */
/* Switches layers off and on while the program runs. */
#ifndef QMPI_STARTUP_SWITCH_H
#define QMPI_STARTUP_SWITCH_H

#include <stdbool.h>

/*
 * Switches a layer off or on, and returns the errors of QMPIX_Tool_set_enabled. Any thread.
 */
int qmpi_chain_set_enabled(int tool_id, bool enabled);

/* The same for what a condition says of a layer. Has no effect on a layer that somebody else has
 * switched, or has left as it is, by qmpi_chain_set_enabled. */
int qmpi_chain_apply_condition(int tool_id, bool enabled);

/* While the stack is built, before the layer is added to the chains: lets it start switched off. */
void qmpi_chain_start_off(int tool_id);

/*
 * While the stack is built: passes a function to the layer also while it is switched off (see
 * QMPIX_Tool_keep_function), and limits the layer to some functions, by number, and to those that
 * it keeps. The array must exist for the whole run.
 */
void qmpi_chain_pass_always(int tool_id, int number);
bool qmpi_chain_passes_always(int tool_id, int number);
void qmpi_chain_limit(int tool_id, const unsigned char *listed);

/* Whether a layer is now called for a function, if it intercepts it. */
bool qmpi_chain_passes(int tool_id, int number);

/* Returns the topmost layer that Fortran calls may not bypass; one past the last one: none. */
int qmpi_chain_topmost(void);

/* Removes a layer that is left out of the stack: it is not notified of switches. */
void qmpi_chain_leave_out(int tool_id);

/* Whether a layer is on; false if it does not exist. Any thread. */
bool qmpi_chain_is_enabled(int tool_id);

#endif
