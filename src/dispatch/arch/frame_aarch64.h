/* SPDX-License-Identifier: MIT */
/*
 * aarch64, AAPCS64: see frame.h. A call leaves its return address in x30, which a C function may
 * save anywhere in its frame. Functions in assembly code (entry_aarch64.inc) therefore record the
 * calls: they save x29 and x30 in the two highest words of their frame, and x29 then points there.
 */
#ifndef QMPI_DISPATCH_ARCH_FRAME_AARCH64_H
#define QMPI_DISPATCH_ARCH_FRAME_AARCH64_H

/* The address of the word with x29, which the return address and the caller's frame follow. */
struct qmpi_frame_entry {
    const void *frame;
};

static inline void *qmpi_frame_return_address(struct qmpi_frame_entry entry)
{
    void *address;
    memcpy(&address, (const char *)entry.frame + sizeof address, sizeof address);
    return address;
}

static inline uintptr_t qmpi_frame_cfa(struct qmpi_frame_entry entry)
{
    return (uintptr_t)entry.frame + 2 * sizeof(void *);
}

/* Evaluates all operands: two loads read all variables, and conditional comparisons need no
 * branches. */
#define QMPI_FRAME_ALL(a, b, c, d) ((a) & (b) & (c) & (d))

static inline struct qmpi_frame_entry qmpi_frame_outer(struct _Unwind_Context *context)
{
    enum { X19 = 19 };
    return (struct qmpi_frame_entry){(const void *)(uintptr_t)_Unwind_GetGR(context, X19)};
}

#endif
