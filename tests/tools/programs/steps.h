/* SPDX-License-Identifier: MIT */
/* The steps of `steps` beyond plain calls and ends. */
#ifndef TEST_STEPS_H
#define TEST_STEPS_H

/* Takes a step; 0: it is none of these. */
/* `NAME=VALUE` or `NAME`; ends the program where there is no such step. */
void run_step(const char *text);

int handle_step(const char *step, const char *value);

#endif
