/* SPDX-License-Identifier: MIT */
/* The relocation types of aarch64, AAELF64: see elf/rewrite.h. TLSDESC and IRELATIVE count as
 * QMPI_ELF_REFERENCE_NONE: the former contains no address of a function that could be replaced, and
 * the latter refers to no symbol. */
#include "elf/rewrite.h"

enum qmpi_elf_reference qmpi_elf_reference_of(const ElfW(Rela) * relocation)
{
    switch (ELF64_R_TYPE(relocation->r_info)) {
    case R_AARCH64_JUMP_SLOT:
        return QMPI_ELF_REFERENCE_CALL;
    case R_AARCH64_GLOB_DAT:
        return QMPI_ELF_REFERENCE_GOT;
    case R_AARCH64_ABS64:
        return QMPI_ELF_REFERENCE_DATA;
    default:
        return QMPI_ELF_REFERENCE_NONE;
    }
}
