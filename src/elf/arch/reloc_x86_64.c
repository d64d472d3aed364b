/* SPDX-License-Identifier: MIT */
/* The relocation types of x86-64, System V ABI: see elf/rewrite.h. */
#include "elf/rewrite.h"

enum qmpi_elf_reference qmpi_elf_reference_of(const ElfW(Rela) * relocation)
{
    switch (ELF64_R_TYPE(relocation->r_info)) {
    case R_X86_64_JUMP_SLOT:
        return QMPI_ELF_REFERENCE_CALL;
    case R_X86_64_GLOB_DAT:
        return QMPI_ELF_REFERENCE_GOT;
    case R_X86_64_64:
        return QMPI_ELF_REFERENCE_DATA;
    default:
        return QMPI_ELF_REFERENCE_NONE;
    }
}
