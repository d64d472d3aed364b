/* SPDX-License-Identifier: MIT */
/*
 * The frame of a call, for each processor. A frame is known by its canonical frame address (DWARF:
 * the stack pointer in the caller, before the call), from which the return address is found. The
 * stack grows downwards: a frame that is still in use lies above those of the functions that it
 * called.
 */
#ifndef QMPI_DISPATCH_ARCH_FRAME_H
#define QMPI_DISPATCH_ARCH_FRAME_H

#include <string.h>

/* The frame of the function in which this is written. */
#define QMPI_THIS_FRAME() __builtin_dwarf_cfa()

/* Where a frame that is in use returns to. */
static inline void *qmpi_frame_return_address(const void *frame)
{
#if defined(__x86_64__)
    void *address;
    memcpy(&address, (const char *)frame - sizeof address, sizeof address);
    return address;
#else
#error "qmpi: this processor needs its qmpi_frame_return_address"
#endif
}

/* The register in which over_X keeps the outer frame, by its DWARF number. */
#if defined(__x86_64__)
#define QMPI_THUNK_FRAME_REGISTER 3 /* rbx */
#else
#error "qmpi: this processor needs its QMPI_THUNK_FRAME_REGISTER"
#endif

#endif
