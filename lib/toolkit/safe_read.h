/* SPDX-License-Identifier: MIT */
/*
 * Reads memory through a pointer that may be invalid. The kernel copies the memory, and returns an
 * error where a direct access would cause a fault. This usually takes one system call, or one for
 * each 64 bytes of a string. Any thread may call these functions, also in a signal handler.
 */
#ifndef QMPI_TOOLKIT_SAFE_READ_H
#define QMPI_TOOLKIT_SAFE_READ_H

#include <stdbool.h>
#include <stddef.h>

/* Copies `length` bytes. Returns false if not all of them can be read. */
bool tool_safe_copy(void *to, const void *from, size_t length);

/*
 * Copies the string at `from` without its terminating NUL, but at most `room` bytes, and sets
 * `length` to the number of bytes copied. If `*length` equals `room`, the string may be longer.
 * Returns false if a byte of the string cannot be read.
 */
bool tool_safe_copy_string(char *to, const char *from, size_t room, size_t *length);

/* ---- Arguments of MPI_Pcontrol --------------------------------------------------------------- */

enum { PCONTROL_TEXT_MAX = 128 };

/* Copies the string at `address`, which is the argument after `level` in a call of MPI_Pcontrol.
 * This argument may have any value, because a caller need not pass it. Returns false if there is no
 * string of 1 to 127 bytes at the address, or if it contains unprintable characters. Never faults.
 */
bool tool_safe_copy_pcontrol(long address, char text[PCONTROL_TEXT_MAX]);

#endif
