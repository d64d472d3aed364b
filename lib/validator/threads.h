/* SPDX-License-Identifier: MIT */
/*
 * Threads that the library of a QMPI tool creates: whether they end, and whether they call MPI. MPI
 * must then provide a thread level that the program may not have asked for.
 */
#ifndef VALIDATOR_THREADS_H
#define VALIDATOR_THREADS_H

#include "validate/validate.h"
#include "validator/visit.h"

/* Watches the functions that create threads. */
void threads_start(const struct qmpi_validate_host *host);

/* Watches those of C++, too, if a library that has been loaded by now needs them. */
void threads_prepare_cpp(void);

/* Returns the layer that has created this thread; 0: none. */
int threads_layer(void);

/* This thread, of a layer, calls a function that not every thread may call. */
void threads_check_call(const QMPIX_Call *call);

/* The layer of a visit initializes MPI by `call`: reports if it asks for another thread level than
 * the one that it was asked for. */
void threads_check_required(const struct visit *visit, const QMPIX_Call *call);

/* MPI may be initialized by now: notes the thread level that it provides. */
void threads_note_provided(void);

/* Returns the name of a thread level. */
const char *threads_level_name(int level);

/* Reports the threads that are still running. Called when the process exits. */
void threads_check_end(void);

/* Prints which layers need which thread level. Called when the process exits. */
void threads_print_levels(void);

#endif
