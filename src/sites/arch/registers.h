/* SPDX-License-Identifier: MIT */
/*
 * Describes a processor for the walk up the stack: its registers, its addresses, and where its
 * functions save the registers of their callers.
 *
 * The file of a processor defines:
 *
 *   qmpi_registers_tables()
 *       Returns how the tables for exceptions are to be read.
 *   QMPI_CODE_BITS, QMPI_CODE_ZEROS
 *       The number of bits that an address of code has in a usual program, and the number of its
 *       low bits that are 0. A rule for an address with more bits is not stored, but found again
 *       each time.
 *   QMPI_STACK_UNIT
 *       The number of bytes of which the size of each frame is a multiple.
 *   QMPI_RETURNS_IN_REGISTER
 *       Whether a call leaves its return address in a register. A function that a signal interrupts
 *       may then not have saved the address.
 *   QMPI_SAVED_BITS, QMPI_SAVED_AT_FP, qmpi_registers_pack_places,
 *   qmpi_registers_ra_place, qmpi_registers_fp_place
 *       A stored rule expresses in QMPI_SAVED_BITS bits where a function has saved the return
 *       address and the frame pointer. qmpi_registers_pack_places sets these bits, and returns
 *       false if they cannot express the places. The others return the places in a frame, which
 *       lies between `bottom` (the register to which the rule adds its offset) and `cfa`.
 *       qmpi_registers_fp_place returns 0 if the function leaves the frame pointer in its register.
 *       QMPI_SAVED_AT_FP is the value of the bits that represents QMPI_FP_AT_FP (frame_table.h).
 *       qmpi_registers_fp_place is never called with this value.
 *   QMPI_SAVED_FRAME_POINTER()
 *       Where the function that contains this macro has saved the frame pointer of its caller.
 *   qmpi_registers_strip(address)
 *       Returns a saved return address without the authentication code that it may contain.
 *   qmpi_registers_frame, qmpi_registers_read(frame)
 *       The type of what is at the stack pointer after the return of a signal handler, and a
 *       function that reads from it the registers of the interrupted code.
 *   qmpi_registers_return_from_signal(code)
 *       Returns whether `code` is the code to which signal handlers return, and which calls the
 *       kernel (rt_sigreturn). Called if there is no table for `code`.
 */
#ifndef QMPI_SITES_ARCH_REGISTERS_H
#define QMPI_SITES_ARCH_REGISTERS_H

#include "sites/frame_table.h"

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* The registers of code that a signal interrupted, as the kernel saved them. */
struct qmpi_registers {
    uintptr_t address, sp;     /* the next instruction, and the stack pointer */
    const uintptr_t *fp_place; /* where the frame pointer is saved */
    const uintptr_t *ra_place; /* where the return address is saved, if calls leave it in a
                                  register; otherwise NULL */
};

#if defined(__x86_64__)
#include "sites/arch/registers_x86_64.h"
#elif defined(__aarch64__)
#include "sites/arch/registers_aarch64.h"
#else
#error "qmpi: unsupported processor: add src/sites/arch/registers_PROCESSOR.h"
#endif

#endif
