/* SPDX-License-Identifier: MIT */
/*
 * Whether a word that MPI_Pcontrol found behind `level` is a string: nobody says how many arguments
 * were given, so that it may be anything.
 */
#ifndef QMPI_PROFILE_READABLE_H
#define QMPI_PROFILE_READABLE_H

#include <stdbool.h>

enum { READABLE_MAX = 128 };

/* Copies the string at `address` where one is: 1 to 127 printable characters and a NUL, in memory
 * that can be read. Never faults. */
bool readable_string(long address, char text[READABLE_MAX]);

#endif
