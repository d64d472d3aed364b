/* SPDX-License-Identifier: MIT */
/* The relocation types of the processor; implemented in arch/reloc_NAME.c. */
#ifndef QMPI_ELF_ARCH_H
#define QMPI_ELF_ARCH_H

#include <link.h>

/* How a relocation binds a symbol. */
enum qmpi_binding {
    QMPI_BINDING_NONE, /* not to the address of a symbol */
    QMPI_BINDING_CALL, /* a slot of the procedure linkage table */
    QMPI_BINDING_GOT,  /* an entry of the global offset table */
    QMPI_BINDING_DATA, /* a pointer in data; the addend counts */
};

enum qmpi_binding qmpi_arch_binding(const ElfW(Rela) * relocation);

#endif
