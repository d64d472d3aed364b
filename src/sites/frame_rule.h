/* SPDX-License-Identifier: MIT */
/*
 * Where a function finds its caller's frame, according to the tables that the compiler writes for
 * exceptions (.eh_frame): a rule for each instruction, which does not depend on the contents of the
 * stack. A frame is identified by its canonical frame address (CFA): the stack pointer in the
 * caller, before the call.
 */
#ifndef QMPI_SITES_FRAME_RULE_H
#define QMPI_SITES_FRAME_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum qmpi_frame_base {
    QMPI_FRAME_UNKNOWN,
    QMPI_FRAME_SIGNAL, /* the frame of a signal: the kernel has saved the registers of the
                          interrupted code */
    QMPI_FRAME_END,    /* there is no caller, or it is unknown */
    QMPI_FRAME_SP,     /* the CFA is the stack pointer + offset */
    QMPI_FRAME_FP,     /* the frame pointer + offset */
    QMPI_FRAME_SAVED,  /* the CFA is stored at the frame pointer + offset: a realigned stack */
};

/* Values of `fp`, unless the caller's frame pointer is in a word below the CFA. */
enum { QMPI_FP_UNCHANGED = 0, QMPI_FP_AT_FP = -1 };

/* The return address is always in the word below the CFA. */
struct qmpi_frame_rule {
    enum qmpi_frame_base base;
    int64_t offset; /* bytes */
    int64_t fp;     /* QMPI_FP_UNCHANGED: the register still contains it; QMPI_FP_AT_FP: the
                       register points to it; else: words below the CFA */
};

/* Finds the rule at the call that returns to an address. QMPI_FRAME_UNKNOWN: there is no rule, or
 * it is not supported. Any thread. */
struct qmpi_frame_rule qmpi_frame_rule_find(uintptr_t address);

#endif
