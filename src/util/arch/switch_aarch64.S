/* SPDX-License-Identifier: MIT */
/* aarch64, AAPCS64: see util/call_stack.c. */
#include "util/arch/assembly_aarch64.inc"

    .text
    .p2align 4
    .globl qmpi_call_stack_switch
    .hidden qmpi_call_stack_switch
    .type qmpi_call_stack_switch, %function
qmpi_call_stack_switch:
    .cfi_startproc
    TARGET
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    mov sp, x0
    mov x0, x2
    blr x1
    mov sp, x29
    .cfi_def_cfa_register sp
    ldp x29, x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
    .size qmpi_call_stack_switch, . - qmpi_call_stack_switch
    FILE_END
