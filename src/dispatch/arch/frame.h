/* SPDX-License-Identifier: MIT */
/*
 * The frame of a call, for each processor. A frame is identified by its canonical frame address
 * (DWARF: the stack pointer in the caller, before the call). The stack grows downwards, so that the
 * frame of a function is above those of the functions that it calls.
 *
 * The file of a processor answers:
 *
 *   struct qmpi_frame_entry
 *       What must be known about a frame in order to find its return address? The member `frame` is
 *       its address. There is a second member if functions may save the return address anywhere.
 *   qmpi_frame_return_address(entry)
 *       Where does a frame that is in use return to?
 *   QMPI_FRAME_ENTER(variable)
 *       Stores the frame of the function that contains this in a thread-local variable of the type
 *       struct qmpi_frame_entry, and returns its old value.
 *   QMPI_FRAME_LEAVE(variable, outer)
 *       Stores an old value again, which is given by address.
 *   qmpi_frame_outer(context)
 *       Which value does thunk_call_X restore when it returns? It keeps this value in registers
 *       that a C function does not change. The context is that of its personality routine.
 *
 * QMPI_FRAME_ENTER and QMPI_FRAME_LEAVE are assembly code, which computes the address of the
 * variable each time, because compilers would keep it in a register across the call of a layer,
 * which costs an additional push, pop and move. A signal handler must find both members of one
 * frame: a processor with two members stores them by one instruction.
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
#error "qmpi: this processor needs its frames: see src/dispatch/arch/frame_x86_64.h"
#endif

#endif
