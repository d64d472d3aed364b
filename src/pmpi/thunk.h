/* SPDX-License-Identifier: MIT */
/* The stubs that hosted layers call: the processor's part, in arch/thunk_NAME.c. */
#ifndef QMPI_PMPI_THUNK_H
#define QMPI_PMPI_THUNK_H

#include "dispatch/chain.h"

enum { QMPI_STUB_SIZE = 32 };

/* Writes a stub at `place` that jumps to wherever `slot` points then. */
void qmpi_arch_write_jump(unsigned char *place, qmpi_function *const *slot);

/* Writes a stub at `place`: jumps to `target`, a qmpi_ends[].over, with `node` in a register. */
void qmpi_arch_write_stub(unsigned char *place, QMPI_Context node, qmpi_function *target);

#endif
