/* SPDX-License-Identifier: MIT */
/*
 * The assembler macros that entries.S, abi_same.S and redirect/fortran_deferred.S consist of, for
 * each processor.
 *
 *   SLOTS            begins the tables qmpi_entries, qmpi_slots and qmpi_pmpi_slots and, except in
 *                    libqmpi.a, qmpi_missing (see process/mpi_library.h)
 *   SLOT name, n     entry n of each table; until start-up, the slots lead to the first-call code
 *   NO_SLOT          an empty entry, for a function that this MPI lacks
 *   ENTRIES          begins the code
 *   ENTRY name, n    MPI_X and, except in libqmpi.a, PMPI_X, which jump through their slots;
 *                    and n's first-call code
 *   SAME name, other `name`, a second name of libqmpi's function `other`
 *   SAMES_END        ends a file that consists of SAME lines
 *   THUNKS           begins the code that thunks call
 *   THUNK name, n, arguments
 *                    thunk_call_MPI_X, with `arguments` arguments: calls the function of a node,
 *                    with the node in front of these arguments; a thunk (see pmpi/thunk.h) passes
 *                    the node in a register
 *   THUNK_VARIADIC   the same for a variadic function
 *   ENTER name, n, arguments
 *                    enter_MPI_X: records its frame in qmpi_dispatch_thread.entry and calls the
 *                    first node of the function; restores the outer frame, also if an exception
 *                    passes
 *   ENTER_MPICH name, n, arguments
 *                    mpich_enter_MPI_X: the same for a node whose layer is one of MPICH's variant
 *   ENTER_FIRST name, arguments
 *                    `name`: records its frame, calls the C function `name`_entered with the same
 *                    arguments, and restores the outer frame in the same way. ENTER, ENTER_MPICH
 *                    and ENTER_FIRST are empty where C functions record their frames, as on
 *                    x86-64: see frame.h
 *   END              the first-call code that all functions share
 *
 *   DEFERRED_TABLE t begins a table t of code that finds its target at each call
 *   DEFERRED n       entry n of the table
 *   DEFERRED_END f   the code that all entries share: calls f(n, caller) and jumps to the result
 *
 * The first-call code saves all argument registers, calls qmpi_startup_call (or
 * qmpi_startup_pmpi_call) to get the target of function n, and jumps there. Thus the first call
 * passes through the stack like any later call.
 */
#if defined(__x86_64__)
#include "dispatch/arch/entry_x86_64.inc"
#elif defined(__aarch64__)
#include "dispatch/arch/entry_aarch64.inc"
#else
#error "qmpi: unsupported processor: add src/dispatch/arch/entry_PROCESSOR.inc"
#endif
