/* SPDX-License-Identifier: MIT */
#include "pmpi/arch/call_x86_64.inc"

/*
 * dlsym, exported: a call that is ours to answer is answered; every other jumps on to the C library's,
 * which sees the caller's own return address: RTLD_NEXT keeps its meaning for everybody.
 */
#ifndef QMPI_STATIC /* there the C library's own is the program's */
    .text
    .p2align 4
    .globl dlsym
    .type dlsym, @function
dlsym:
    .cfi_startproc
    /* Names of MPI's begin with M or P; and there is dlclose. */
    movzbl (%rsi), %eax
    cmpb $'M', %al
    je 1f
    cmpb $'P', %al
    je 1f
    cmpb $'d', %al
    je 1f
    movq qmpi_real_dlsym(%rip), %rax
    testq %rax, %rax
    je 1f
    jmp *%rax
1:
    movq (%rsp), %rdx
    SAVE_ARGUMENTS
    call qmpi_tool_dlsym
    RESTORE_ARGUMENTS
    testq %rax, %rax
    je 2f
    ret
2:
    jmp *qmpi_real_dlsym(%rip)
    .cfi_endproc
    .size dlsym, . - dlsym
#endif
    .section .note.GNU-stack, "", @progbits
