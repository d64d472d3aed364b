/* SPDX-License-Identifier: MIT */
/*
 * What following return addresses up the stack must know of a processor: its registers, its
 * addresses, and where its functions save the registers of their callers.
 *
 * The file of a processor answers:
 *
 *   qmpi_registers_tables()
 *       How are the tables for exceptions to be read?
 *   QMPI_CODE_BITS, QMPI_CODE_ZEROS
 *       How many bits has an address of code in a usual program? How many of the low ones are 0? A
 *       rule for an address with more bits is not stored, but found again each time.
 *   QMPI_STACK_UNIT
 *       Of how many bytes are frames a multiple?
 *   QMPI_RETURNS_IN_REGISTER
 *       Does a call leave its return address in a register, so that code that a signal interrupts
 *       may have saved it nowhere?
 *   QMPI_SAVED_BITS, QMPI_SAVED_AT_FP, qmpi_registers_pack_places,
 *   qmpi_registers_ra_place, qmpi_registers_fp_place
 *       How does a stored rule tell in so many bits where a function has saved the return address
 *       and the frame pointer? qmpi_registers_pack_places returns false if the bits cannot express
 *       it. The others return the places in a frame, which lies between `bottom` (the register to
 *       which the rule adds its offset) and `cfa`. qmpi_registers_fp_place returns 0 if the
 *       function leaves the frame pointer in its register. It is not called with
 *       QMPI_SAVED_AT_FP, which represents QMPI_FP_AT_FP.
 *   QMPI_SAVED_FRAME_POINTER()
 *       Where has the function that contains this saved the frame pointer of its caller?
 *   qmpi_registers_strip(address)
 *       Which address does a saved return address mean? It may contain an authentication code.
 *   qmpi_registers_frame, qmpi_registers_read(frame)
 *       What is at the stack pointer after the return of a signal handler? Which registers did the
 *       interrupted code have?
 *   qmpi_registers_return_from_signal(code)
 *       Is this, to which a signal handler returns, the kernel's code for the return from signals?
 *       Asked if there is no table for it.
 */
#ifndef QMPI_SITES_ARCH_REGISTERS_H
#define QMPI_SITES_ARCH_REGISTERS_H

#include "sites/frame_table.h"

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* The registers of code that a signal interrupted, as the kernel saved them. */
struct qmpi_registers {
    uintptr_t address, sp;
    const uintptr_t *fp_place; /* where the frame pointer is saved */
    const uintptr_t *ra_place; /* the return address, if calls leave it in a register */
};

#if defined(__x86_64__)
#include "sites/arch/registers_x86_64.h"
#elif defined(__aarch64__)
#include "sites/arch/registers_aarch64.h"
#else
#error "qmpi: this processor needs its registers: see src/sites/arch/registers_x86_64.h"
#endif

#endif
