/* SPDX-License-Identifier: MIT */
/*
 * A tool for MPICH's variant of QMPI, which needs only MPICH's mpi.h. It passes on some MPI_T
 * calls. The calls that it passes on must reach libqmpi's functions, which merge the variables of
 * the layers with those of the library.
 */
#include <mpi.h>

/* W(X, number, (parameters), (arguments)) */
#define FOR_EACH_FUNCTION(W)                                                                       \
    W(T_cvar_get_num, MPI_T_CVAR_GET_NUM_T, (QMPI_Context context, int tool_id, int *num),         \
      (context, next_id, num))                                                                     \
    W(T_cvar_get_index, MPI_T_CVAR_GET_INDEX_T,                                                    \
      (QMPI_Context context, int tool_id, const char *name, int *index),                           \
      (context, next_id, name, index))                                                             \
    W(T_pvar_get_index, MPI_T_PVAR_GET_INDEX_T,                                                    \
      (QMPI_Context context, int tool_id, const char *name, int var_class, int *index),            \
      (context, next_id, name, var_class, index))                                                  \
    W(T_pvar_read, MPI_T_PVAR_READ_T,                                                              \
      (QMPI_Context context, int tool_id, MPI_T_pvar_session session, MPI_T_pvar_handle handle,    \
       void *buffer),                                                                              \
      (context, next_id, session, handle, buffer))                                                 \
    W(T_category_get_num, MPI_T_CATEGORY_GET_NUM_T, (QMPI_Context context, int tool_id, int *num), \
      (context, next_id, num))

#define WRAP(X, NUMBER, PARAMETERS, ARGUMENTS)                                                     \
    static int stock_##X PARAMETERS                                                                \
    {                                                                                              \
        void (*function)(void);                                                                    \
        int next_id;                                                                               \
        const int result = QMPI_Get_function(tool_id, NUMBER, &function, &next_id);                \
        return result == MPI_SUCCESS ? ((QMPI_##X##_t *)function)ARGUMENTS : result;               \
    }
FOR_EACH_FUNCTION(WRAP)

static void init(int tool_id)
{
#define REGISTER(X, NUMBER, PARAMETERS, ARGUMENTS)                                                 \
    QMPI_Register_function(tool_id, NUMBER, (void (*)(void))stock_##X);
    FOR_EACH_FUNCTION(REGISTER)
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("stock", init);
}
