/* SPDX-License-Identifier: MIT */
/* The clock of this process, and its relation to rank 0's. */
#ifndef QMPI_CLOCK_CLOCK_H
#define QMPI_CLOCK_CLOCK_H

#include "clock/offsets.h"
#include "clock/reading.h"

#endif
