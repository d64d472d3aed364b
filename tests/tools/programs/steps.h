/* SPDX-License-Identifier: MIT */
/* Functions for the steps of `steps`. */
#ifndef TEST_STEPS_H
#define TEST_STEPS_H

/* Carries out the step `NAME=VALUE` or `NAME`. Ends the program with status 99 if neither steps.c
 * nor steps_handles.c has this step. */
void run_step(const char *text);

/* Carry out a step. Return 0 if the function does not know the step. The second function exists
 * only in tools_starving and tools_starving_fortran. */
int handle_step(const char *step, const char *value);
int starving_step(const char *step, const char *value) __attribute__((weak));

#endif
