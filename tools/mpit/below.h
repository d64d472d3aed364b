/* SPDX-License-Identifier: MIT */
/*
 * How mpit calls MPI_T: through the layers below it, down to where what they all publish and what
 * the MPI library has is merged. PMPI_T_X would show the library alone, MPI_T_X would enter the
 * stack at the top again.
 */
#ifndef QMPI_MPIT_TOOL_BELOW_H
#define QMPI_MPIT_TOOL_BELOW_H

#include <qmpi/qmpi.h>

static inline void (*below_find(int tool_id, enum QMPI_Functions_enum number,
                                QMPI_Context *next))(void)
{
    void (*function)(void) = NULL;
    QMPI_Get_function(tool_id, number, &function, next);
    return function;
}

/* BELOW(tool_id, T_cvar_read, MPI_T_CVAR_READ_T, handle, buffer): its result. Looked up each time,
 * for layers are switched off and on. */
#define BELOW(tool_id, X, NUMBER, ...)                                                             \
    __extension__({                                                                                \
        QMPI_Context below_next = NULL;                                                            \
        QMPI_##X##_t *below_function = (QMPI_##X##_t *)below_find(tool_id, NUMBER, &below_next);   \
        below_function(below_next, __VA_ARGS__);                                                   \
    })

#endif
