/* SPDX-License-Identifier: MIT */
/* The steps of `steps` beyond plain calls and ends. */
#ifndef TEST_STEPS_H
#define TEST_STEPS_H

/* `NAME=VALUE` or `NAME`; ends the program where there is no such step. */
void run_step(const char *text);

/* Take a step; 0: it is none of these. The second one is only in tools_starving. */
int handle_step(const char *step, const char *value);
int starving_step(const char *step, const char *value) __attribute__((weak));

#endif
