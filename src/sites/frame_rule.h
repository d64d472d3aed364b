/* SPDX-License-Identifier: MIT */
/*
 * Where a function has its caller's frame, as the compiler wrote it down for exceptions
 * (.eh_frame): a rule for each instruction, which does not depend on what is on the stack. A frame
 * is known by its canonical frame address (CFA): the stack pointer in the caller, before the call.
 */
#ifndef QMPI_SITES_FRAME_RULE_H
#define QMPI_SITES_FRAME_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum qmpi_frame_base {
    QMPI_FRAME_UNKNOWN,
    QMPI_FRAME_SIGNAL, /* of a signal: the kernel has saved the registers of the interrupted code */
    QMPI_FRAME_END,    /* there is no caller, or it cannot be known */
    QMPI_FRAME_SP,     /* the CFA is the stack pointer + offset */
    QMPI_FRAME_FP,     /* the frame pointer + offset */
    QMPI_FRAME_SAVED,  /* what is stored at the frame pointer + offset: a realigned stack */
};

/* Where the caller's frame pointer is, if not in a word below the CFA. */
enum { QMPI_FP_UNCHANGED = 0, QMPI_FP_AT_FP = -1 };

/* The return address is always in the word below the CFA. */
struct qmpi_frame_rule {
    enum qmpi_frame_base base;
    int64_t offset; /* bytes */
    int64_t fp;     /* QMPI_FP_UNCHANGED: the register has it; QMPI_FP_AT_FP: the register leads to
                       it; else: words below the CFA */
};

/* Finds the rule at the call that returns to an address. QMPI_FRAME_UNKNOWN: there is none, or it
 * is none of these. Any thread. */
struct qmpi_frame_rule qmpi_frame_rule_find(uintptr_t address);

#endif
