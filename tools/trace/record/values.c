/* SPDX-License-Identifier: MIT */
/* See values.h. */
#include "record/values.h"

#include "trace/trace.h"

#include <qmpi/qmpi.h>

int value_of_peer(int peer)
{
    if (peer >= 0)
        return peer;
    return peer == MPI_PROC_NULL    ? TRACE_PROC_NULL
           : peer == MPI_ANY_SOURCE ? TRACE_ANY
                                    : TRACE_UNDEFINED;
}

int value_of_tag(int tag)
{
    if (tag >= 0)
        return tag;
    return tag == MPI_ANY_TAG ? TRACE_ANY : TRACE_UNDEFINED;
}

int value_of_root(int root)
{
    if (root >= 0)
        return root;
    return root == MPI_ROOT        ? TRACE_ROOT_SELF
           : root == MPI_PROC_NULL ? TRACE_PROC_NULL
                                   : TRACE_UNDEFINED;
}
