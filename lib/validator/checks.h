/* SPDX-License-Identifier: MIT */
/*
 * The checks that need more than one call of a layer: the memory, MPI objects and threads that the
 * tool creates, what it writes, and the storage of other layers. Each is in a file of its own.
 * validator.c starts the checks, and passes calls of MPI to them. Those that must see calls outside
 * MPI redirect these calls of the tool's library (watch.h).
 *
 * Functions may be called in any thread unless they say otherwise.
 */
#ifndef VALIDATOR_CHECKS_H
#define VALIDATOR_CHECKS_H

#include "validate/validate.h"
#include "validator/visit.h"

/* These functions start the checks. Each must be called once, before layers are loaded. */
void validator_handles_start(const struct qmpi_validate_host *host);
void validator_heap_start(void);
void validator_output_start(void);
void validator_storage_start(const struct qmpi_validate_host *host);
void validator_threads_start(const struct qmpi_validate_host *host);

/* These functions watch the C++ functions for memory and threads, too, if a loaded library needs
 * them. They must be called before each call of watch_layer. */
void validator_heap_prepare_operators(void);
void validator_threads_prepare_cpp(void);

/* ---- MPI objects and requests, in handles.c --------------------------------------------------
 * They belong to the layer that creates them until they are freed or completed, or until the layer
 * returns them to the program. */

/* Stores the handles that a call of a layer may free or complete. Returns the argument of
 * validator_handles_after, which may be NULL. */
void *validator_handles_before(const QMPIX_Call *call);

/* Removes the objects that the call has freed or completed. Frees `stored`. */
void validator_handles_after(const QMPIX_Call *call, void *stored);

/* Returns whether a function creates objects or requests. */
bool validator_handles_creates(const QMPIX_Function *function);

/* Adds the objects that a layer has created by a call, which is at `address` in its code. */
void validator_handles_add(int tool_id, const QMPIX_Call *call, const void *address);

/* Removes the objects in the outputs of a call from which a layer returns, because they now belong
 * to the program. */
void validator_handles_give(const struct visit *visit, const QMPIX_Call *call);

/* If MPI was finalized, reports the objects that are left. Must be called when the process exits.
 */
void validator_handles_check_end(void);

/* ---- Memory, in heap.c -----------------------------------------------------------------------
 * The blocks that a tool's library itself allocates, by malloc and similar functions and by
 * operator new. Memory that other libraries allocate for the tool is unknown. */

/* Returns the size of the block that begins at an address, or 0 if there is none. */
size_t validator_heap_size(const void *address);

/* ---- The storage of layers, in storage.c -----------------------------------------------------
 * While the code of a layer runs, the storage of the other layers (QMPI_Register_tool_storage) must
 * not change. A change that the owner of the storage may have made is not reported: the owner may
 * run at the same time, or be called. */

/* The code of the innermost visit's layer begins to run, or continues after a call of MPI. */
void validator_storage_begin(const struct visit *visit);

/* The code calls MPI or returns. Returns the layer whose storage it has changed, or 0 if there is
 * none. */
int validator_storage_end(const struct visit *visit);

/* ---- Threads, in threads.c -------------------------------------------------------------------
 * The threads that a QMPI tool's library creates: whether they end, and whether they call MPI. If
 * they call MPI, it must provide a thread level that the program may not have required. */

/* Returns the layer that has created this thread, or 0 if no layer has created it, or if a layer
 * has created it by std::thread. */
int validator_threads_layer(void);

/* Reports a call that a thread of a layer makes, unless the thread level of MPI allows it. */
void validator_threads_check_call(const QMPIX_Call *call);

/* Reports a call that initializes MPI if its layer was called with another thread level. */
void validator_threads_check_required(const struct visit *visit, const QMPIX_Call *call);

/* Stores the thread level that MPI provides, if MPI has been initialized. Later, when the process
 * exits, MPI can no longer be asked. */
void validator_threads_record_provided(void);

/* Returns the name of a thread level, which is never freed. */
const char *validator_threads_level_name(int level);

/* These functions must be called when the process exits. The first one reports the threads that are
 * still running. The second one prints which layers need which thread level. */
void validator_threads_check_end(void);
void validator_threads_print_levels(void);

#endif
