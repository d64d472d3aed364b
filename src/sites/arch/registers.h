/* SPDX-License-Identifier: MIT */
/* The registers that matter for following return addresses up the stack, for each processor. Needs
 * _GNU_SOURCE. */
#ifndef QMPI_SITES_ARCH_REGISTERS_H
#define QMPI_SITES_ARCH_REGISTERS_H

#include <stdint.h>
#include <ucontext.h>

/* The registers of code that a signal interrupted, as the kernel saved them. */
struct qmpi_registers {
    uintptr_t address, sp;
    const uintptr_t *fp_place; /* where the frame pointer is saved */
};

#if defined(__x86_64__)
/* The numbers in DWARF of the frame pointer, the stack pointer and the return address. */
enum { QMPI_DWARF_FP = 6, QMPI_DWARF_SP = 7, QMPI_DWARF_RA = 16 };

/* The frame of a signal, at the stack pointer after the return of the handler. */
typedef ucontext_t qmpi_registers_frame;

static inline struct qmpi_registers qmpi_registers_read(const qmpi_registers_frame *frame)
{
    const greg_t *saved = frame->uc_mcontext.gregs;
    return (struct qmpi_registers){(uintptr_t)saved[REG_RIP], (uintptr_t)saved[REG_RSP],
                                   (const uintptr_t *)&saved[REG_RBP]};
}
#else
#error "qmpi: this processor needs its registers"
#endif

#endif
