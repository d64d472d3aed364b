/* SPDX-License-Identifier: MIT */
/*
 * The frame of a call, for each processor. A frame is identified by its canonical frame address
 * (DWARF: the stack pointer in the caller, before the call). The stack grows downwards, so that the
 * frame of a function is above those of the functions that it calls.
 *
 * The file of a processor defines:
 *
 *   struct qmpi_frame_entry
 *       Identifies the frame of a function, and its return address. The member `frame` is an
 *       address in the frame, above the frames of all functions that this function calls.
 *   qmpi_frame_return_address(entry)
 *       Returns the return address of a frame, which must be in use.
 *   qmpi_frame_cfa(entry)
 *       Returns the canonical frame address of this frame.
 *   QMPI_FRAME_ALL(a, b, c, d)
 *       Whether all of these comparisons hold, in the way that takes the fewest instructions. An
 *       operand may be evaluated even if one before it is false.
 *   qmpi_frame_outer(context)
 *       Returns the outer value of qmpi_dispatch_thread.entry, which functions in assembly code,
 *       such as thunk_call_X, keep in a callee-saved register and restore when they return.
 *       `context` is the argument of their personality routine.
 *
 * C functions record their frames if the place of the return address is known. Otherwise, functions
 * in assembly code do this: the macros ENTER, ENTER_MPICH and ENTER_FIRST of entry.h. If C
 * functions record their frames, the file of the processor also defines:
 *
 *   QMPI_FRAME_ENTER(variable)
 *       Stores the frame of the function that contains the macro in the first member of a
 *       thread-local struct, which is a struct qmpi_frame_entry, and returns the old value of this
 *       member.
 *   QMPI_FRAME_LEAVE(variable, outer)
 *       Stores the old value again. `outer` points to it.
 *
 * QMPI_FRAME_ENTER and QMPI_FRAME_LEAVE are assembly code that computes the address of the variable
 * each time: a compiler would keep the address in a register across the call of a layer, which
 * costs an additional push, pop and move. Besides, a call of a user-level thread may return in
 * another thread, which has a variable of its own.
 */
#ifndef QMPI_DISPATCH_ARCH_FRAME_H
#define QMPI_DISPATCH_ARCH_FRAME_H

#include <stdint.h>
#include <string.h>
#include <unwind.h>

/* The frame of the function that contains this macro. */
#define QMPI_THIS_FRAME() __builtin_dwarf_cfa()

#if defined(__x86_64__)
#include "dispatch/arch/frame_x86_64.h"
#elif defined(__aarch64__)
#include "dispatch/arch/frame_aarch64.h"
#else
#error "qmpi: unsupported processor: add src/dispatch/arch/frame_PROCESSOR.h"
#endif

#endif
