/* SPDX-License-Identifier: MIT */
/*
 * Reading memory that a program points to, right or wrong: the kernel copies, and says so where a
 * plain access would fault. One system call; in any thread, in a signal handler too.
 */
#ifndef QMPI_TOOLKIT_SAFE_READ_H
#define QMPI_TOOLKIT_SAFE_READ_H

#include <stdbool.h>
#include <stddef.h>

/* Copies `length` bytes. False: not all of them can be read. */
bool tool_safe_copy(void *to, const void *from, size_t length);

/*
 * Copies the string at `from`, at most `room` bytes of it, and sets `length` to how many; a NUL is
 * not put behind them. `*length` equal to `room`: the string is as long or longer. False: it cannot
 * be read up to its end or so far.
 */
bool tool_safe_copy_string(char *to, const char *from, size_t room, size_t *length);

#endif
