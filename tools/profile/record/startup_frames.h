/* SPDX-License-Identifier: MIT */
/*
 * The frames above a program's or a thread's first function: _start and the C library's, which call
 * `main` and what pthread_create was given. They say nothing of the program.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_STARTUP_FRAMES_H
#define QMPI_TOOL_PROFILE_RECORD_STARTUP_FRAMES_H

/* Finds where such code lies; again: does nothing. From `init`. */
void start_code_find(void);

/* How many of the `count` frames of a whole stack, innermost first, are the program's. Where the
 * program has the C library in itself only _start is known. */
int start_code_trim(void *const *frames, int count);

#endif
