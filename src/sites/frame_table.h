/* SPDX-License-Identifier: MIT */
/*
 * The rules that lead from the frame of a function to that of its caller. They are read from the
 * tables that compilers write for exceptions (.eh_frame). Each instruction has a rule, which does
 * not depend on the contents of the stack. A frame is identified by its canonical frame address
 * (CFA): the stack pointer in the caller, before the call. This file reads one record of a table,
 * which frame_rule.h finds.
 */
#ifndef QMPI_SITES_FRAME_TABLE_H
#define QMPI_SITES_FRAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- Rules ----------------------------------------------------------------------------------- */

enum qmpi_frame_base {
    QMPI_FRAME_UNKNOWN,
    QMPI_FRAME_SIGNAL, /* the frame of a signal: the kernel has saved the registers of the
                          interrupted code */
    QMPI_FRAME_END,    /* there is no caller, or it is unknown */
    QMPI_FRAME_SP,     /* the CFA is the stack pointer + offset */
    QMPI_FRAME_FP,     /* the CFA is the frame pointer + offset */
    QMPI_FRAME_SAVED,  /* the CFA is stored at the frame pointer + offset: a realigned stack */
    QMPI_FRAME_LEAF,   /* the CFA is the stack pointer + offset, and the return address is still in
                          its register; possible only in code that a signal interrupts */
};

/* Values of `fp`, unless the caller's frame pointer is in a word below the CFA. */
enum { QMPI_FP_UNCHANGED = 0, QMPI_FP_AT_FP = -1 };

struct qmpi_frame_rule {
    enum qmpi_frame_base base;
    int64_t offset; /* bytes */
    int64_t fp; /* the frame pointer of the caller. QMPI_FP_UNCHANGED: the register still contains
                   it. QMPI_FP_AT_FP: the register points to it. Otherwise: its place in words below
                   the CFA */
    int64_t ra; /* the place of the return address in words below the CFA; 0 with QMPI_FRAME_LEAF */
};

/* ---- Tables ---------------------------------------------------------------------------------- */

/* How the tables of a processor are to be read. */
struct qmpi_frame_tables {
    unsigned fp, sp, ra; /* the numbers in DWARF of the frame pointer, the stack pointer and the
                            return address */
    bool ra_is_register; /* the return address is in a register until a function saves it */
    bool signs_ra;       /* instructions may tell that saved return addresses are signed */
    unsigned scale;      /* the number of the pseudo register that contains the number of words in a
                            scalable vector; 0: there is none */
    uint64_t scale_value; /* the number of words that this register contains */
};

/* Bytes that are to be read. */
struct qmpi_frame_bytes {
    const unsigned char *at, *end;
};

/* Skips `count` bytes, and returns them, or the first eight of them, as a number. Returns 0 if
 * there are fewer than `count` bytes. */
uint64_t qmpi_frame_bytes_read(struct qmpi_frame_bytes *bytes, size_t count);

/* Returns the size of an encoded pointer, or 0 if it is not fixed. */
size_t qmpi_frame_pointer_size(unsigned char encoding);

/*
 * Returns the rule for the instruction at `address`. The function begins at `function`; its record
 * is at the address `place`, in the segment. The base of the rule is QMPI_FRAME_UNKNOWN if the
 * record is damaged or the rule is not supported, QMPI_FRAME_END if the instruction is after the
 * end of the function or the function has no caller, and QMPI_FRAME_SIGNAL for the frame of a
 * signal. May be called by any thread.
 */
struct qmpi_frame_rule qmpi_frame_table_read(const struct qmpi_frame_tables *tables,
                                             const struct qmpi_frame_bytes *segment,
                                             uintptr_t place, uintptr_t function,
                                             uintptr_t address);

#endif
