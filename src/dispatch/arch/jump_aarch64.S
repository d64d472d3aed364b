/* SPDX-License-Identifier: MIT */
/* longjmp and its variants on aarch64, AAPCS64: see dispatch/frame.c. This code changes only
 * caller-saved registers. */
#include "dispatch/node.h"
#include "util/arch/assembly_aarch64.inc"

#ifndef QMPI_STATIC
    .section .data.qmpi_real_jumps, "aw", %progbits
    .balign 8
    .globl qmpi_real_jumps
    .hidden qmpi_real_jumps
qmpi_real_jumps:

.macro JUMP name, number
    .section .data.qmpi_real_jumps, "aw", %progbits
    .xword resolve_\name
    .text
    .p2align 4
    .globl \name
    .type \name, %function
\name:
    .cfi_startproc
    TARGET
    mrs x9, tpidr_el0
    LOAD_THREAD_OFFSET x10, qmpi_dispatch_thread
    add x9, x9, x10
    ldr x10, [x9]
    str x10, [x9, #QMPI_THREAD_JUMPED_FRAME]
    LOAD_POINTER x16, qmpi_real_jumps, 8 * \number
    br x16
    /* The initial target, for a jump before the constructor of frame.c has run. */
resolve_\name:
    TARGET
    stp x29, x30, [sp, #-32]!
    .cfi_adjust_cfa_offset 32
    .cfi_rel_offset x29, 0
    .cfi_rel_offset x30, 8
    stp x0, x1, [sp, #16]
    mov x29, sp
    bl qmpi_jump_resolve
    ldp x0, x1, [sp, #16]
    ldp x29, x30, [sp], #32
    .cfi_adjust_cfa_offset -32
    .cfi_restore x29
    .cfi_restore x30
    LOAD_POINTER x16, qmpi_real_jumps, 8 * \number
    br x16
    .cfi_endproc
    .size \name, . - \name
.endm

JUMP longjmp, 0
JUMP _longjmp, 1
JUMP siglongjmp, 2
JUMP __longjmp_chk, 3
#endif
    FILE_END
