/* SPDX-License-Identifier: MIT */
/* The entries on x86-64, System V ABI. See entry.h. */

.macro SLOTS
    .section .data.qmpi_bases, "aw", @progbits
    .balign 64
    .globl qmpi_bases
    .hidden qmpi_bases
qmpi_bases:
    .section .data.qmpi_slots, "aw", @progbits
    .balign 64
    .globl qmpi_slots
    .hidden qmpi_slots
qmpi_slots:
.endm

.macro SLOT name, number
    .section .data.qmpi_bases, "aw", @progbits
    .quad first_base_\number
    .section .data.qmpi_slots, "aw", @progbits
    .quad first_call_\number
.endm

.macro NO_SLOT
    .section .data.qmpi_bases, "aw", @progbits
    .quad 0
    .section .data.qmpi_slots, "aw", @progbits
    .quad 0
.endm

.macro ENTRIES
    .text
.endm

.macro ENTRY name, number
    .p2align 4
    .globl \name
    .type \name, @function
\name:
    jmp *qmpi_slots + 8 * \number(%rip)
    .size \name, . - \name

    .p2align 3
    .globl P\name
    .type P\name, @function
P\name:
    jmp *qmpi_bases + 8 * \number(%rip)
    .size P\name, . - P\name

first_call_\number:
    movl $\number, %r11d
    jmp qmpi_first_call
first_base_\number:
    movl $\number, %r11d
    jmp qmpi_first_base
.endm

/* r11: the number of the function. r10 is the static chain, al the count of vector arguments. */
.macro FIRST label, finder
    .p2align 4
    .type \label, @function
\label:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $192, %rsp
    movq %rdi, 0(%rsp)
    movq %rsi, 8(%rsp)
    movq %rdx, 16(%rsp)
    movq %rcx, 24(%rsp)
    movq %r8, 32(%rsp)
    movq %r9, 40(%rsp)
    movq %rax, 48(%rsp)
    movq %r10, 56(%rsp)
    movaps %xmm0, 64(%rsp)
    movaps %xmm1, 80(%rsp)
    movaps %xmm2, 96(%rsp)
    movaps %xmm3, 112(%rsp)
    movaps %xmm4, 128(%rsp)
    movaps %xmm5, 144(%rsp)
    movaps %xmm6, 160(%rsp)
    movaps %xmm7, 176(%rsp)
    movl %r11d, %edi
    call \finder
    movq %rax, %r11
    movq 0(%rsp), %rdi
    movq 8(%rsp), %rsi
    movq 16(%rsp), %rdx
    movq 24(%rsp), %rcx
    movq 32(%rsp), %r8
    movq 40(%rsp), %r9
    movq 48(%rsp), %rax
    movq 56(%rsp), %r10
    movaps 64(%rsp), %xmm0
    movaps 80(%rsp), %xmm1
    movaps 96(%rsp), %xmm2
    movaps 112(%rsp), %xmm3
    movaps 128(%rsp), %xmm4
    movaps 144(%rsp), %xmm5
    movaps 160(%rsp), %xmm6
    movaps 176(%rsp), %xmm7
    leave
    .cfi_def_cfa %rsp, 8
    jmp *%r11
    .cfi_endproc
    .size \label, . - \label
.endm

.macro END
    FIRST qmpi_first_call, qmpi_start_call
    FIRST qmpi_first_base, qmpi_start_base
    .section .note.GNU-stack, "", @progbits
.endm
