/* SPDX-License-Identifier: MIT */
/* aarch64, AAPCS64: see registry/layer.c. */
#include "util/arch/assembly_aarch64.inc"

    .text
    .p2align 4
    .globl qmpi_catch_call
    .hidden qmpi_catch_call
    .type qmpi_catch_call, %function
qmpi_catch_call:
    .cfi_startproc
    .cfi_personality 0x1b, qmpi_catch_personality /* pcrel, sdata4 */
    TARGET
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    mov x16, x0
    mov w0, w1
    blr x16
    mov x0, xzr
    b 1f
    /* The personality routine continues here, with the exception in x0. */
    .globl qmpi_catch_landing
    .hidden qmpi_catch_landing
qmpi_catch_landing:
#ifdef __ARM_FEATURE_BTI_DEFAULT
    hint #36 /* bti j: the unwinder jumps here */
#endif
1:
    ldp x29, x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
    .size qmpi_catch_call, . - qmpi_catch_call
    FILE_END
