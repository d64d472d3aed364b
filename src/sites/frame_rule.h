/* SPDX-License-Identifier: MIT */
/* Finds the rules of frame_table.h. */
#ifndef QMPI_SITES_FRAME_RULE_H
#define QMPI_SITES_FRAME_RULE_H

#include "sites/frame_table.h"

#include <stdint.h>

/* Finds the rule at the call that returns to an address. QMPI_FRAME_UNKNOWN: there is no rule, or
 * it is not supported. Any thread. */
struct qmpi_frame_rule qmpi_frame_rule_find(uintptr_t address);

#endif
