/* SPDX-License-Identifier: MIT */
/* x86-64, System V ABI: see registry/layer.c. */
    .text
    .p2align 4
    .globl qmpi_catch_call
    .hidden qmpi_catch_call
    .type qmpi_catch_call, @function
qmpi_catch_call:
    .cfi_startproc
    .cfi_personality 0x1b, qmpi_catch_personality /* pcrel, sdata4 */
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    movq %rdi, %rax
    movl %esi, %edi
    call *%rax
    xorl %eax, %eax
    /* The personality routine continues here, with the exception in rax. */
    .globl qmpi_catch_landing
    .hidden qmpi_catch_landing
qmpi_catch_landing:
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size qmpi_catch_call, . - qmpi_catch_call
    .section .note.GNU-stack, "", @progbits
