/* SPDX-License-Identifier: MIT */
#include "pmpi/arch/call_x86_64.inc"

/*
 * dlopen, exported: what a PMPI tool opens becomes part of its layer. Every other call jumps on to
 * the C library's, which sees the caller's own return address: whose run paths hold is as ever.
 */
    .text
    .p2align 4
#ifndef QMPI_STATIC /* there the C library's own is the program's */
    .globl dlopen
    .type dlopen, @function
dlopen:
#endif
    .globl qmpi_dlopen
    .hidden qmpi_dlopen
    .type qmpi_dlopen, @function
qmpi_dlopen:
    .cfi_startproc
    movq (%rsp), %rdx
    SAVE_ARGUMENTS
    movq %rdx, %rdi
    call qmpi_tool_dlopen_layer
    RESTORE_ARGUMENTS
    testq %rax, %rax
    je 1f
    movq %rax, %rdx
    movq (%rsp), %rcx
    jmp qmpi_tool_dlopen
1:
    jmp *qmpi_real_dlopen(%rip)
    .cfi_endproc
    .size qmpi_dlopen, . - qmpi_dlopen
#ifndef QMPI_STATIC
    .size dlopen, . - dlopen
#endif
    .section .note.GNU-stack, "", @progbits
