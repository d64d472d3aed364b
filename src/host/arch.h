/* SPDX-License-Identifier: MIT */
/*
 * The processor's part of hosting, all of it: relocation types and stubs. Another processor needs
 * its own arch_NAME.c with these functions, and its dlsym in arch_NAME_dlsym.S.
 */
#ifndef QMPI_ARCH_H
#define QMPI_ARCH_H

#include "chain.h"
#include "elf_image.h"

#include <stdbool.h>

enum { QMPI_STUB_SIZE = 32 };

/* How a relocation binds a symbol. */
enum qmpi_binding {
    QMPI_BINDING_NONE, /* not to a symbol's address */
    QMPI_BINDING_CALL, /* a slot of the procedure linkage table */
    QMPI_BINDING_GOT,  /* an entry of the global offset table */
    QMPI_BINDING_DATA, /* a pointer in data; the addend counts */
};

enum qmpi_binding qmpi_arch_binding(const ElfW(Rela) * relocation);

/* Writes a stub at `place` that jumps to wherever `slot` points then. */
void qmpi_arch_write_jump(unsigned char *place, qmpi_function *const *slot);

/* Writes a stub at `place`: jumps to `target`, a qmpi_ends[].over, with `node` in a register. */
void qmpi_arch_write_stub(unsigned char *place, QMPI_Context node, qmpi_function *target);

#endif
