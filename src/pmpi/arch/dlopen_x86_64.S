/* SPDX-License-Identifier: MIT */
#include "pmpi/arch/call_x86_64.inc"

/*
 * The exported dlopen. If a PMPI tool calls it, the opened library becomes part of the tool's
 * layer. All other calls jump to the next dlopen, usually that of the C library, which sees the
 * return address of the caller, so that the caller's run paths apply.
 */
    .text
    .p2align 4
#ifndef QMPI_STATIC /* a static program uses dlopen of the C library */
    .globl dlopen
    .type dlopen, @function
dlopen:
#endif
    .globl qmpi_interpose_dlopen
    .hidden qmpi_interpose_dlopen
    .type qmpi_interpose_dlopen, @function
qmpi_interpose_dlopen:
    .cfi_startproc
    movq (%rsp), %rdx
    SAVE_ARGUMENTS
    movq %rdx, %rdi
    call qmpi_pmpi_dlopen_layer
    RESTORE_ARGUMENTS
    testq %rax, %rax
    je 1f
    movq %rax, %rdx
    movq (%rsp), %rcx
    jmp qmpi_pmpi_dlopen
1:
    jmp *qmpi_real_dlopen(%rip)
    .cfi_endproc
    .size qmpi_interpose_dlopen, . - qmpi_interpose_dlopen
#ifndef QMPI_STATIC
    .size dlopen, . - dlopen
#endif
    .section .note.GNU-stack, "", @progbits
