/* SPDX-License-Identifier: MIT */
/* The thunks that PMPI layers call: the part for the processor, in arch/thunk_NAME.c. */
#ifndef QMPI_PMPI_THUNK_H
#define QMPI_PMPI_THUNK_H

#include "dispatch/dispatch.h"

enum { QMPI_STUB_SIZE = 32 };

/* Writes a stub at `place` that jumps to the current target in `slot`. */
void qmpi_arch_write_jump(unsigned char *place, qmpi_function *const *slot);

/* Writes a thunk at `place` that jumps to `target`, a qmpi_ends[].over, with `node` in a register.
 */
void qmpi_arch_write_stub(unsigned char *place, QMPI_Context node, qmpi_function *target);

#endif
