/* SPDX-License-Identifier: MIT */
/*
 * Detects threads in constructors that the dynamic loader runs. Such a thread holds the loader's
 * lock until the constructor returns, and must not wait for a thread that loads a library.
 */
#ifndef QMPI_STARTUP_CONSTRUCTOR_H
#define QMPI_STARTUP_CONSTRUCTOR_H

#include <stdbool.h>

/* Whether the calling thread is in a constructor of an object that it opens with dlopen, or in a
 * destructor of an object that it closes. */
bool qmpi_in_constructor(void);

#endif
