/* SPDX-License-Identifier: MIT */
/*
 * The storage of layers (QMPI_Register_tool_storage). While the code of a layer runs in a thread,
 * between two calls of MPI, that of the other layers must stay as it is. Their owners may write it,
 * too, at the same time or because they are called: whatever could have been done by the owner is
 * not reported.
 */
#ifndef VALIDATOR_STORAGE_H
#define VALIDATOR_STORAGE_H

#include "validate/validate.h"
#include "validator/visit.h"

/* Prepares the following. */
void storage_start(const struct qmpi_validate_host *host);

/* The code of the layer of this visit, the innermost one, begins to run, or is returned to. */
void storage_begin(const struct visit *visit);

/* It has run: returns the layer whose storage it has changed; 0: none. */
int storage_end(const struct visit *visit);

#endif
