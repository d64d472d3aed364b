/* SPDX-License-Identifier: MIT */
/*
 * The function below a PMPI layer, with the signature of MPI_X: MPI_X of the next PMPI tool, PMPI_X
 * of the MPI library or, above a QMPI layer, a thunk that adds the context. A thunk belongs to the
 * node of the QMPI layer, and exists for the whole run like the node.
 */
#ifndef QMPI_PMPI_THUNK_H
#define QMPI_PMPI_THUNK_H

#include "process/process.h"
#include "registry/registry.h"

/* Returns the target of MPI function `number` below `layer`; NULL: this MPI lacks it, or the thunk
 * cannot be created.
 */
qmpi_function *qmpi_thunk_next_function(struct qmpi_layer *layer, int number);

/*
 * Creates the missing thunks of the nodes row[number], of which NULL needs none. Returns false on
 * failure.
 */
bool qmpi_thunk_prepare(const QMPI_Context *row);

/* Returns the function that continues the chain at `node`; NULL: this is a thunk that
 * qmpi_thunk_prepare has not created. */
qmpi_function *qmpi_thunk_node_function(QMPI_Context node);

/* Returns the reason why the latest creation of thunks failed; NULL: it did not fail, or no thunk
 * was needed so far. */
const char *qmpi_thunk_error(void);

/* ---- Deferred thunks ------------------------------------------------------------------------- */

/* Deferred thunks: dlsym returns them to a preloaded tool in a constructor, before the stack
 * exists. They lead to the MPI library until start-up, and then to the layer below the tool. */

/* Returns the deferred thunk for function `number` below a preloaded tool; NULL: it cannot be
 * created. */
void *qmpi_thunk_find_deferred(struct qmpi_preloaded_tool *preloaded, int number);

/* Makes the tool's deferred thunks lead to the layers that are now below its layer. */
void qmpi_thunk_resolve_deferred(struct qmpi_preloaded_tool *preloaded);

/* ---- Code, in arch/thunk_NAME.c -------------------------------------------------------------- */

enum { QMPI_THUNK_SIZE = 32 }; /* bytes, at most */

/* Writes a thunk at `place` that jumps to `target`, the .thunk_call of a function, with `node` in
 * a register.
 */
void qmpi_thunk_write(unsigned char *place, QMPI_Context node, qmpi_function *target);

/* Writes a deferred thunk at `place` that jumps to the current target in `slot`. */
void qmpi_thunk_write_deferred(unsigned char *place, qmpi_function *const *slot);

#endif
