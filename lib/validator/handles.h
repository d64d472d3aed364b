/* SPDX-License-Identifier: MIT */
/*
 * MPI objects and requests that layers create for themselves, until they are freed or completed.
 * Those that a layer returns to the program are the program's.
 */
#ifndef VALIDATOR_HANDLES_H
#define VALIDATOR_HANDLES_H

#include "validate/validate.h"
#include "validator/visit.h"

/* Prepares the following. */
void handles_start(const struct qmpi_validate_host *host);

/* Notes the handles that a call of a layer may free. Returns what handles_after needs; NULL:
 * nothing. */
void *handles_before(const QMPIX_Call *call);

/* The call has returned: forgets what it has freed or completed, and frees `noted`. */
void handles_after(const QMPIX_Call *call, void *noted);

/* Whether a function creates objects or requests. */
bool handles_creates(const QMPIX_Function *function);

/* Notes what a layer has created by a call, at `address` in its code. */
void handles_add(int tool_id, const QMPIX_Call *call, const void *address);

/* The layer of a visit returns from `call`: what its outputs contain is the program's. */
void handles_give(const struct visit *visit, const QMPIX_Call *call);

/* Reports what is left, if MPI has been finalized. Called when the process exits. */
void handles_check_end(void);

#endif
