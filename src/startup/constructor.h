/* SPDX-License-Identifier: MIT */
/*
 * Whether a thread is in a constructor that the dynamic loader runs. It then has the loader's lock
 * until the constructor returns, and must not wait for a thread that loads something.
 */
#ifndef QMPI_STARTUP_CONSTRUCTOR_H
#define QMPI_STARTUP_CONSTRUCTOR_H

#include <stdbool.h>

/* Whether the calling thread is in a constructor of an object that it opens by dlopen, or in a
 * destructor of one that it closes. */
bool qmpi_in_constructor(void);

#endif
