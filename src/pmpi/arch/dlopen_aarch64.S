/* SPDX-License-Identifier: MIT */
#include "pmpi/arch/call_aarch64.inc"

/*
 * The exported dlopen. If a PMPI tool calls it, the opened library becomes part of the tool's
 * layer. All other calls jump to the next dlopen, usually that of the C library, which sees the
 * return address of the caller, so that the caller's run paths apply.
 */
    .text
    .p2align 4
#ifndef QMPI_STATIC /* a static program uses dlopen of the C library */
    .globl dlopen
    .type dlopen, %function
dlopen:
#endif
    .globl qmpi_interpose_dlopen
    .hidden qmpi_interpose_dlopen
    .type qmpi_interpose_dlopen, %function
qmpi_interpose_dlopen:
    .cfi_startproc
    TARGET
    SAVE_ARGUMENTS
    mov x0, x30
    bl qmpi_pmpi_dlopen_layer
    mov x9, x0
    RESTORE_ARGUMENTS
    cbz x9, 1f
    mov x2, x9
    mov x3, x30
    b qmpi_pmpi_dlopen
1:
    LOAD_POINTER x16, qmpi_real_dlopen
    br x16
    .cfi_endproc
    .size qmpi_interpose_dlopen, . - qmpi_interpose_dlopen
#ifndef QMPI_STATIC
    .size dlopen, . - dlopen
#endif
    FILE_END
