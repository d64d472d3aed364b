/* SPDX-License-Identifier: MIT */
/* x86-64, System V ABI: see elf/arch.h. */
#include "elf/arch.h"

enum qmpi_binding qmpi_arch_binding(const ElfW(Rela) * relocation)
{
    switch (ELF64_R_TYPE(relocation->r_info)) {
    case R_X86_64_JUMP_SLOT:
        return QMPI_BINDING_CALL;
    case R_X86_64_GLOB_DAT:
        return QMPI_BINDING_GOT;
    case R_X86_64_64:
        return QMPI_BINDING_DATA;
    default:
        return QMPI_BINDING_NONE;
    }
}
