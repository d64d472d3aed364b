/* SPDX-License-Identifier: MIT */
/*
 * Lets a tool call MPI_T functions through the layers below it, so that it sees both what these
 * layers publish and what the MPI library has. PMPI_T_X would show the MPI library alone, and
 * MPI_T_X would enter the stack of layers at the top again.
 */
#ifndef QMPI_TOOLKIT_NEXT_H
#define QMPI_TOOLKIT_NEXT_H

#include <qmpi/qmpi.h>

static inline void (*next_find(int tool_id, enum QMPI_Functions_enum number,
                               QMPI_Context *next))(void)
{
    void (*function)(void) = NULL;
    QMPI_Get_function(tool_id, number, &function, next);
    return function;
}

/* Calls a function in the next layer and returns its result, as in
 * CALL_NEXT(tool_id, T_cvar_read, MPI_T_CVAR_READ_T, handle, buffer). The function is looked up in
 * each call, because layers can be switched off and on. */
#define CALL_NEXT(tool_id, X, NUMBER, ...)                                                         \
    __extension__({                                                                                \
        QMPI_Context next_context = NULL;                                                          \
        QMPI_##X##_t *next_function = (QMPI_##X##_t *)next_find(tool_id, NUMBER, &next_context);   \
        next_function(next_context, __VA_ARGS__);                                                  \
    })

/* Initializes MPI_T again for a layer that has initialized it before. This is needed if the program
 * has finalized MPI_T more often than it has initialized it, because MPI counts the calls of all
 * callers together. */
static inline void next_keep_mpi_t(int tool_id)
{
    int count, provided;
    /* MPI_T_cvar_get_num fails only if MPI_T is not initialized. */
    if (CALL_NEXT(tool_id, T_cvar_get_num, MPI_T_CVAR_GET_NUM_T, &count) != MPI_SUCCESS) {
        /* 0 is MPI_THREAD_SINGLE in all MPI libraries; the call is not converted for tools that are
         * compiled for the standard ABI. libqmpi itself requests the highest level. */
        CALL_NEXT(tool_id, T_init_thread, MPI_T_INIT_THREAD_T, 0, &provided);
    }
}

#endif
