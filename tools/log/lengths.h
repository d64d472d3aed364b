/* SPDX-License-Identifier: MIT */
/* How long the arrays are that a call is given. */
#ifndef QMPI_TOOL_LOG_LENGTHS_H
#define QMPI_TOOL_LOG_LENGTHS_H

#include "format.h"
#include "layer.h"

/* The number of elements of array `parameter`; -1: it cannot be told, or there is nothing to be
 * shown. What MPI must be asked for is known in `after` alone, of a call that has succeeded. */
long long length_of(struct layer *layer, const QMPIX_Call *call, const struct shape *shape,
                    int parameter);

/* The same, where the status of the call tells its arrays are not to be looked at: whether this
 * process is the root, or there is none. */
bool length_is_at_root(struct layer *layer, const QMPIX_Call *call, const struct shape *shape);

/* The integer of `size` bytes at `from`. */
long long length_number(const void *from, size_t size);

#endif
