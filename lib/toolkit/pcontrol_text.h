/* SPDX-License-Identifier: MIT */
/*
 * Whether a word that MPI_Pcontrol found behind `level` is a string: it is unknown how many
 * arguments were given, so that it may be anything.
 */
#ifndef QMPI_TOOLKIT_PCONTROL_TEXT_H
#define QMPI_TOOLKIT_PCONTROL_TEXT_H

#include <stdbool.h>

enum { PCONTROL_TEXT_MAX = 128 };

/* Copies the string at `address` where one is: 1 to 127 printable characters and a NUL, in memory
 * that can be read. Never faults. */
bool copy_pcontrol_text(long address, char text[PCONTROL_TEXT_MAX]);

#endif
