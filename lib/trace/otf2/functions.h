/* SPDX-License-Identifier: MIT */
/* What OTF2 wants to know of an MPI function. */
#ifndef QMPI_TRACE_OTF2_FUNCTIONS_H
#define QMPI_TRACE_OTF2_FUNCTIONS_H

#include "trace/definitions.h"

#include <otf2/otf2.h>
#include <stdbool.h>

struct archive_function {
    OTF2_RegionRole role;
    OTF2_CollectiveOp operation; /* of its collective, if it is one */
    OTF2_RmaAtomicType atomic;
    bool accesses_file, writes_file, is_collective_access;
};

struct archive_function archive_describe(const struct trace_function *function);

#endif
