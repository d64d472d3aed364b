/* SPDX-License-Identifier: MIT */
/* The function of test_walk.c that records its frame, if a C function cannot do this. */
#include "dispatch/arch/entry.h"

ENTER_FIRST check_callers, 0
SAMES_END
