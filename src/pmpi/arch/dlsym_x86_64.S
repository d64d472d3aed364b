/* SPDX-License-Identifier: MIT */
#include "pmpi/arch/call_x86_64.inc"

/*
 * The exported dlsym. If qmpi_interpose_dlsym knows the result, it is returned. All other calls
 * jump to the next dlsym, usually that of the C library, which sees the return address of the
 * caller, so that RTLD_NEXT keeps its meaning.
 */
#ifndef QMPI_STATIC /* a static program uses dlsym of the C library */
    .text
    .p2align 4
    .globl dlsym
    .type dlsym, @function
dlsym:
    .cfi_startproc
    /* Only names that begin with M or P (MPI functions) or with d (dlclose) are of interest. */
    movzbl (%rsi), %eax
    cmpb $'M', %al
    je 1f
    cmpb $'P', %al
    je 1f
    cmpb $'d', %al
    je 1f
    movq qmpi_next_dlsym(%rip), %rax
    testq %rax, %rax
    je 1f
    jmp *%rax
1:
    movq (%rsp), %rdx
    SAVE_ARGUMENTS
    call qmpi_interpose_dlsym
    RESTORE_ARGUMENTS
    testq %rax, %rax
    je 2f
    ret
2:
    jmp *qmpi_next_dlsym(%rip)
    .cfi_endproc
    .size dlsym, . - dlsym
#endif
    .section .note.GNU-stack, "", @progbits
