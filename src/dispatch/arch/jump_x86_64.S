/* SPDX-License-Identifier: MIT */
/* longjmp and its variants on x86-64, System V ABI: see dispatch/frame.c. This code changes only
 * caller-saved registers. */
#include "dispatch/node.h"

#ifndef QMPI_STATIC
    .section .data.qmpi_real_jumps, "aw", @progbits
    .balign 8
    .globl qmpi_real_jumps
    .hidden qmpi_real_jumps
qmpi_real_jumps:

.macro JUMP name, number
    .section .data.qmpi_real_jumps, "aw", @progbits
    .quad resolve_\name
    .text
    .p2align 4
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    movq qmpi_dispatch_thread@gottpoff(%rip), %rax
    movq %fs:(%rax), %rdx
    movq %rdx, %fs:QMPI_THREAD_JUMPED_FRAME(%rax)
    jmp *qmpi_real_jumps + 8 * \number(%rip)
    /* The initial target, for a jump before the constructor of frame.c has run. */
resolve_\name:
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call qmpi_jump_resolve
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    jmp *qmpi_real_jumps + 8 * \number(%rip)
    .cfi_endproc
    .size \name, . - \name
.endm

JUMP longjmp, 0
JUMP _longjmp, 1
JUMP siglongjmp, 2
JUMP __longjmp_chk, 3
#endif
    .section .note.GNU-stack, "", @progbits
