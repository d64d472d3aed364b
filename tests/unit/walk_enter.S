/* SPDX-License-Identifier: MIT */
/* The function check_callers of test_walk.c, for processors where a C function cannot record its
 * frame. This function records its frame and calls check_callers_entered of test_walk.c. */
#include "dispatch/arch/entry.h"

ENTER_FIRST check_callers, 0
SAMES_END
