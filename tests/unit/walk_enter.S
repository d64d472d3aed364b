/* SPDX-License-Identifier: MIT */
/* check_callers of test_walk.c, which records its frame, for processors where a C function cannot
 * record its frame. */
#include "dispatch/arch/entry.h"

ENTER_FIRST check_callers, 0
SAMES_END
