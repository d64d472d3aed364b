/* SPDX-License-Identifier: MIT */
/* The steps of `steps` beyond plain calls and ends. */
#ifndef TEST_STEPS_H
#define TEST_STEPS_H

/* Takes a step; 0: it is none of these. */
int handle_step(const char *step, const char *value);

#endif
