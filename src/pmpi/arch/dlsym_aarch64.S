/* SPDX-License-Identifier: MIT */
#include "pmpi/arch/call_aarch64.inc"

/*
 * The exported dlsym. If qmpi_interpose_dlsym knows the result, it is returned. All other calls
 * jump to the next dlsym, usually that of the C library, which sees the return address of the
 * caller, so that RTLD_NEXT keeps its meaning.
 */
#ifndef QMPI_STATIC /* a static program uses dlsym of the C library */
    .text
    .p2align 4
    .globl dlsym
    .type dlsym, %function
dlsym:
    .cfi_startproc
    TARGET
    /* Only names that begin with M or P (MPI functions) or with d (dlclose) are of interest. */
    ldrb w9, [x1]
    cmp w9, #'M'
    b.eq 1f
    cmp w9, #'P'
    b.eq 1f
    cmp w9, #'d'
    b.eq 1f
    LOAD_POINTER x16, qmpi_next_dlsym
    cbz x16, 1f
    br x16
1:
    SAVE_ARGUMENTS
    mov x2, x30
    bl qmpi_interpose_dlsym
    mov x9, x0
    RESTORE_ARGUMENTS
    cbz x9, 2f
    mov x0, x9
    ret
2:
    LOAD_POINTER x16, qmpi_next_dlsym
    br x16
    .cfi_endproc
    .size dlsym, . - dlsym
#endif
    FILE_END
