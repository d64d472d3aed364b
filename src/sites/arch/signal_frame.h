/* SPDX-License-Identifier: MIT */
/* The frame of a signal, for each processor. Needs _GNU_SOURCE. */
#ifndef QMPI_SITES_ARCH_SIGNAL_FRAME_H
#define QMPI_SITES_ARCH_SIGNAL_FRAME_H

#include <stdint.h>
#include <ucontext.h>

/* What the kernel saves of the code that a signal interrupts; `frame` is where the stack pointer is
 * when the handler has returned. */
struct qmpi_interrupted {
    uintptr_t address, sp;
    const uintptr_t *fp_place;
};
#if defined(__x86_64__)
typedef ucontext_t qmpi_signal_frame;

static inline struct qmpi_interrupted qmpi_signal_registers(const qmpi_signal_frame *frame)
{
    const greg_t *registers = frame->uc_mcontext.gregs;
    return (struct qmpi_interrupted){(uintptr_t)registers[REG_RIP], (uintptr_t)registers[REG_RSP],
                                     (const uintptr_t *)&registers[REG_RBP]};
}
#else
#error "qmpi: this processor needs its qmpi_signal_registers"
#endif

#endif
