/* SPDX-License-Identifier: MIT */
/* Finds the rules of frame_table.h. */
#ifndef QMPI_SITES_FRAME_RULE_H
#define QMPI_SITES_FRAME_RULE_H

#include "sites/frame_table.h"

#include <stdint.h>

/* Finds the rule at the call that returns to an address. The base of the rule is QMPI_FRAME_UNKNOWN
 * if the rule is not supported or its record is damaged, and QMPI_FRAME_END if there is no table or
 * no caller, unless the code at the address is recognized as the return from a signal
 * (QMPI_FRAME_SIGNAL). May be called by any thread. */
struct qmpi_frame_rule qmpi_frame_rule_find(uintptr_t address);

#endif
