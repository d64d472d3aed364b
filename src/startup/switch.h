/* SPDX-License-Identifier: MIT */
/* Switches layers off and on while the program runs. */
#ifndef QMPI_STARTUP_SWITCH_H
#define QMPI_STARTUP_SWITCH_H

#include "functions/functions.h"

#include <stdbool.h>

/*
 * Switches a layer off or on, and returns the errors of QMPIX_Tool_set_enabled. May be called by
 * any thread.
 */
int qmpi_switch_set_enabled(int tool_id, bool enabled);

/* Like qmpi_switch_set_enabled, but for the conditions of an entry. Has no effect after a
 * successful call of qmpi_switch_set_enabled for the layer, even if that call changed nothing. */
int qmpi_switch_apply_condition(int tool_id, bool enabled);

/* Lets a layer start switched off. Called while the stack is built, before the layer is added to
 * the chains. */
void qmpi_switch_start_off(int tool_id);

/*
 * Called while the stack is built. After qmpi_switch_pass_always, calls of a function reach the
 * layer even while the layer is switched off (see QMPIX_Tool_keep_function).
 * qmpi_switch_passes_always returns whether this is so. qmpi_switch_limit limits the layer to the
 * functions that are marked in `listed`, an array by number, and to those that it keeps. The array
 * must exist for the whole run.
 */
void qmpi_switch_pass_always(int tool_id, int number);
bool qmpi_switch_passes_always(int tool_id, int number);
void qmpi_switch_limit(int tool_id, const unsigned char *listed);

/* Sets an interceptor of a layer whose init function is not running, for calls that begin later.
 * Returns what QMPI_Register_tool_function returns. */
int qmpi_switch_intercept(int tool_id, int number, qmpi_function *fp);

/* Returns whether a layer is now called for a function, provided that the layer intercepts the
 * function. */
bool qmpi_switch_passes(int tool_id, int number);

/* Returns the topmost layer that Fortran calls must not bypass. If there is none, returns a number
 * that is higher than that of the last layer. */
int qmpi_switch_topmost(void);

/* Removes the callback of a layer that is left out of the stack, so that the layer is not notified
 * of switches. */
void qmpi_switch_leave_out(int tool_id);

/* Returns whether a layer is on. Returns false if it does not exist. May be called by any
 * thread. */
bool qmpi_switch_is_enabled(int tool_id);

#endif
