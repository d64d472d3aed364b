/* SPDX-License-Identifier: MIT */
/* What of a processor's registers matters to who follows return addresses up the stack. */
#ifndef QMPI_SITES_ARCH_REGISTERS_H
#define QMPI_SITES_ARCH_REGISTERS_H

/* The numbers in DWARF of the frame pointer, the stack pointer and the return address; the factor
 * of offsets of saved registers, which the ABI fixes. */
#if defined(__x86_64__)
enum { QMPI_DWARF_FP = 6, QMPI_DWARF_SP = 7, QMPI_DWARF_RA = 16 };
#else
#error "qmpi: this processor needs its DWARF numbers of registers"
#endif

#endif
