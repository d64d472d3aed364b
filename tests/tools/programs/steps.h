/* SPDX-License-Identifier: MIT */
/* Functions for the steps of `steps`. */
#ifndef TEST_STEPS_H
#define TEST_STEPS_H

/* Carries out `NAME=VALUE` or `NAME`; ends the program if there is no such step. */
void run_step(const char *text);

/* Carry out a step. Return 0 if the function does not know the step. The second function exists
 * only in tools_starving. */
int handle_step(const char *step, const char *value);
int starving_step(const char *step, const char *value) __attribute__((weak));

#endif
