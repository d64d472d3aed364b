/* SPDX-License-Identifier: MIT */
/*
 * The assembler macros that entries.S consists of, for each processor.
 *
 *   SLOTS            begins the tables qmpi_entries, qmpi_slots and qmpi_pmpi_slots, and, but for
 *                    libqmpi.a, qmpi_missing (see process/mpi_library.h)
 *   SLOT name, n     function n's places in them; until start-up they lead to the first-call code
 *   NO_SLOT          the same for a number that this MPI lacks
 *   ENTRIES          begins the code
 *   ENTRY name, n    MPI_X jumps through its slot, PMPI_X through its own, and n's first-call code
 *   THUNKS           starts the code that PMPI layers call
 *   THUNK name, n, arguments
 *                    over_MPI_X: calls a node with that many arguments behind it; the node comes in
 *                    a register, from a stub (see pmpi/thunk.h), and is kept in the frame
 *   THUNK_VARIADIC   the same where the caller may have given more or fewer
 *   END              the first-call code that all share
 *
 *   DEFERRED_TABLE t  begins a table t of further code whose target is asked for at each call
 *   DEFERRED n       its place n
 *   DEFERRED_END f   the code that all places share: jumps where f(n, caller) says
 *
 * The first-call code saves all argument registers, calls qmpi_start_call (or qmpi_start_base) to
 * get the target of function n, and jumps there. Thus the first call passes through the stack like
 * any later call.
 */
#include "dispatch/arch/entry.inc"
