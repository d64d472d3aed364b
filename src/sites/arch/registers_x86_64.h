/* SPDX-License-Identifier: MIT */
/* x86-64: see registers.h. A call pushes its return address, which is thus always in the word below
 * the CFA. Needs _GNU_SOURCE. */
#ifndef QMPI_SITES_ARCH_REGISTERS_X86_64_H
#define QMPI_SITES_ARCH_REGISTERS_X86_64_H

#include "sites/arch/tables_x86_64.h"

static inline struct qmpi_frame_tables qmpi_registers_tables(void)
{
    return (struct qmpi_frame_tables)QMPI_FRAME_TABLES_X86_64;
}

enum {
    QMPI_CODE_BITS = 47,
    QMPI_CODE_ZEROS = 0,
    QMPI_STACK_UNIT = 8,
    QMPI_RETURNS_IN_REGISTER = false,
};

/* The bits contain the distance in words from the place of the saved frame pointer to the CFA, or 0
 * if the frame pointer is not saved. */
enum { QMPI_SAVED_BITS = 6, QMPI_SAVED_AT_FP = (1 << QMPI_SAVED_BITS) - 1 };

static inline bool qmpi_registers_pack_places(const struct qmpi_frame_rule *rule, unsigned *saved)
{
    *saved = rule->fp == QMPI_FP_AT_FP ? QMPI_SAVED_AT_FP : (unsigned)rule->fp;
    return rule->ra == 1 && rule->fp < QMPI_SAVED_AT_FP;
}

static inline uintptr_t qmpi_registers_ra_place(unsigned saved, uintptr_t bottom, uintptr_t cfa)
{
    (void)saved;
    (void)bottom;
    return cfa - sizeof(uintptr_t);
}

static inline uintptr_t qmpi_registers_fp_place(unsigned saved, uintptr_t bottom, uintptr_t cfa)
{
    (void)bottom;
    return saved ? cfa - saved * sizeof(uintptr_t) : 0;
}

/* The frame pointer of this function points to that of its caller. */
#define QMPI_SAVED_FRAME_POINTER() ((const uintptr_t *)__builtin_frame_address(0))

static inline uintptr_t qmpi_registers_strip(uintptr_t address)
{
    return address;
}

typedef ucontext_t qmpi_registers_frame;

static inline struct qmpi_registers qmpi_registers_read(const qmpi_registers_frame *frame)
{
    const greg_t *saved = frame->uc_mcontext.gregs;
    return (struct qmpi_registers){(uintptr_t)saved[REG_RIP], (uintptr_t)saved[REG_RSP],
                                   (const uintptr_t *)&saved[REG_RBP], NULL};
}

/* Signal handlers return to code in the C library, which has a table for this code. */
static inline bool qmpi_registers_return_from_signal(const void *code)
{
    (void)code;
    return false;
}

#endif
