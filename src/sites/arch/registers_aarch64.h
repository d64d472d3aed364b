/* SPDX-License-Identifier: MIT */
/*
 * aarch64, AAPCS64: see registers.h. A call leaves its return address in x30. A function that calls
 * others saves this address anywhere in its frame. If the function also saves the frame pointer,
 * the frame pointer is in the word below the return address, because compilers store both by one
 * instruction. Needs _GNU_SOURCE.
 */
#ifndef QMPI_SITES_ARCH_REGISTERS_AARCH64_H
#define QMPI_SITES_ARCH_REGISTERS_AARCH64_H

#include "sites/arch/tables_aarch64.h"
#include "util/util.h"

#include <signal.h>
#include <string.h>
#include <sys/auxv.h>

/* The size of scalable vectors (SVE) is read from the processor. It is taken to be the same in all
 * threads, because programs do not change it while they run. */
static inline struct qmpi_frame_tables qmpi_registers_tables(void)
{
    struct qmpi_frame_tables tables = QMPI_FRAME_TABLES_AARCH64;
    if (getauxval(AT_HWCAP) & HWCAP_SVE) {
        register uint64_t count __asm__("x0");
        __asm__(".inst 0x04e0e3e0" : "=r"(count)); /* cntd x0 */
        tables.scale_value = count;
    }
    return tables;
}

/* Linux maps nothing above 48 bits unless a program asks for it. */
enum {
    QMPI_CODE_BITS = 48,
    QMPI_CODE_ZEROS = 2,
    QMPI_STACK_UNIT = 16,
    QMPI_RETURNS_IN_REGISTER = true,
};

/*
 * Bit 0 tells whether the frame pointer is saved in the word below the return address. Bits 7-1 are
 * the place of the return address in words. A number from 0 on counts from the bottom of the frame
 * upwards, where GCC saves the address. A negative number counts from the CFA downwards, where
 * Clang saves it. If the return address is still in its register, bits 7-1 are the place of the
 * word above the saved frame pointer.
 */
enum { QMPI_SAVED_BITS = 8, QMPI_SAVED_AT_FP = 1 << QMPI_SAVED_BITS /* not used here */ };

static inline bool qmpi_registers_pack_places(const struct qmpi_frame_rule *rule, unsigned *saved)
{
    enum { WORDS = 1 << (QMPI_SAVED_BITS - 2) };
    const bool is_leaf = rule->base == QMPI_FRAME_LEAF, saves_fp = rule->fp != QMPI_FP_UNCHANGED;
    const int64_t below_cfa = is_leaf ? rule->fp - 1 : rule->ra;
    const int64_t above_bottom = rule->offset / (int64_t)sizeof(uintptr_t) - below_cfa;
    const bool is_near_bottom = above_bottom >= 0 && above_bottom < WORDS;
    const int64_t place = is_near_bottom ? above_bottom : -below_cfa;
    *saved = ((unsigned)place << 1 | saves_fp) & ((1 << QMPI_SAVED_BITS) - 1);
    return (is_leaf && !saves_fp) || ((is_near_bottom || (place < 0 && place >= -WORDS)) &&
                                      (!saves_fp || rule->fp == below_cfa + 1));
}

static inline uintptr_t qmpi_registers_ra_place(unsigned saved, uintptr_t bottom, uintptr_t cfa)
{
    const intptr_t place = (int8_t)saved >> 1;
    return (place < 0 ? cfa : bottom) + (uintptr_t)place * sizeof(uintptr_t);
}

static inline uintptr_t qmpi_registers_fp_place(unsigned saved, uintptr_t bottom, uintptr_t cfa)
{
    return saved & 1 ? qmpi_registers_ra_place(saved, bottom, cfa) - sizeof(uintptr_t) : 0;
}

/* The frame pointer of this function points to that of its caller. */
#define QMPI_SAVED_FRAME_POINTER() ((const uintptr_t *)__builtin_frame_address(0))

/* This instruction, xpaclri, changes only x30. Older processors execute it as nop. */
static inline uintptr_t qmpi_registers_strip(uintptr_t address)
{
    register uintptr_t x30 __asm__("x30") = address;
    __asm__("hint #7" : "+r"(x30));
    return x30;
}

/* The frame of a signal, as the kernel writes it. */
typedef struct {
    siginfo_t info;
    ucontext_t context;
} qmpi_registers_frame;

static inline struct qmpi_registers qmpi_registers_read(const qmpi_registers_frame *frame)
{
    const mcontext_t *saved = &frame->context.uc_mcontext;
    return (struct qmpi_registers){(uintptr_t)saved->pc, (uintptr_t)saved->sp,
                                   (const uintptr_t *)&saved->regs[29],
                                   (const uintptr_t *)&saved->regs[30]};
}

/* Signal handlers return to code in the vDSO. Since Linux 5.8, the vDSO has no table for this code,
 * so the code is recognized by its instructions. */
static inline bool qmpi_registers_return_from_signal(const void *code)
{
    static const uint32_t expected[] = {0xd2801168, 0xd4000001}; /* mov x8, #139; svc #0 */
    return (uintptr_t)code % sizeof *expected == 0 &&
           qmpi_memory_can_be_read(code, sizeof expected) &&
           !memcmp(code, expected, sizeof expected);
}

#endif
