/* SPDX-License-Identifier: MIT */
/*
 * The rules by which functions find their callers' frames, from the tables that the compiler writes
 * for exceptions (.eh_frame). There is a rule for each instruction, which does not depend on the
 * contents of the stack. A frame is identified by its canonical frame address (CFA): the stack
 * pointer in the caller, before the call. Here, one record of a table is read; frame_rule.h finds
 * it.
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
    QMPI_FRAME_FP,     /* the frame pointer + offset */
    QMPI_FRAME_SAVED,  /* the CFA is stored at the frame pointer + offset: a realigned stack */
    QMPI_FRAME_LEAF,   /* the stack pointer + offset; the return address is in its register, as is
                          possible in code that a signal interrupts */
};

/* Values of `fp`, unless the caller's frame pointer is in a word below the CFA. */
enum { QMPI_FP_UNCHANGED = 0, QMPI_FP_AT_FP = -1 };

struct qmpi_frame_rule {
    enum qmpi_frame_base base;
    int64_t offset; /* bytes */
    int64_t fp;     /* QMPI_FP_UNCHANGED: the register still contains it; QMPI_FP_AT_FP: the
                       register points to it; else: words below the CFA */
    int64_t ra;     /* the return address: words below the CFA; 0 with QMPI_FRAME_LEAF */
};

/* ---- Tables ---------------------------------------------------------------------------------- */

/* How the tables of a processor are to be read. */
struct qmpi_frame_tables {
    unsigned fp, sp, ra; /* the numbers in DWARF of the frame pointer, the stack pointer and the
                            return address */
    bool ra_is_register; /* a function without a rule for the return address has not saved it */
    bool signs_ra;       /* instructions may tell that saved return addresses are signed */
    unsigned scale; /* the number of the register with the number of words in a scalable vector;
                       0: none */
    uint64_t scale_value;
};

/* Bytes that are to be read. */
struct qmpi_frame_bytes {
    const unsigned char *at, *end;
};

/* Skips `count` bytes. Returns the first eight of them as a number; 0 if they do not exist. */
uint64_t qmpi_frame_bytes_read(struct qmpi_frame_bytes *bytes, size_t count);

/* Returns the size of an encoded pointer; 0: it is not fixed. */
size_t qmpi_frame_pointer_size(unsigned char encoding);

/*
 * Returns the rule in a function for the instruction at an address. The record of the function is
 * at `place`, in the segment. QMPI_FRAME_UNKNOWN: the record is damaged, or the rule is not
 * supported. QMPI_FRAME_END: the instruction is behind the function. Any thread.
 */
struct qmpi_frame_rule qmpi_frame_table_read(const struct qmpi_frame_tables *tables,
                                             const struct qmpi_frame_bytes *segment,
                                             uintptr_t place, uintptr_t function,
                                             uintptr_t address);

#endif
