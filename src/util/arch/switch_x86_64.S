/* SPDX-License-Identifier: MIT */
/* x86-64, System V ABI: see util/call_stack.c. */
    .text
    .p2align 4
    .globl qmpi_call_stack_switch
    .hidden qmpi_call_stack_switch
    .type qmpi_call_stack_switch, @function
qmpi_call_stack_switch:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    movq %rdi, %rsp
    movq %rdx, %rdi
    call *%rsi
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size qmpi_call_stack_switch, . - qmpi_call_stack_switch
    .section .note.GNU-stack, "", @progbits
