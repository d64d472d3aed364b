/* SPDX-License-Identifier: MIT */
/*
 * The calls of the QMPI draft as the cases of this suite make them, implemented by the header of
 * one implementation. Cases use nothing else of an implementation.
 *
 * With -DDRAFT_OVER_MPI_H, the calls use the interface that MPICH's mpi.h declares, and otherwise
 * that of <qmpi/qmpi.h>. Another implementation needs a section of its own here, and an entry in
 * run.py.
 *
 *   SELF            the parameters of an interceptor in front of those of the MPI function
 *   SELF_ID()       in an interceptor, the tool_id of its layer
 *   NEXT_CALL       the next function, converted to the type QMPI_X_t
 *   NEXT_ARGUMENTS  in an interceptor, the arguments of the next function in front of MPI's
 *
 * A draft_* function that makes a call returns what the call returns.
 */
#ifndef CONFORMANCE_DRAFT_H
#define CONFORMANCE_DRAFT_H

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* The values of draft_get_binding. */
enum { DRAFT_BINDING_C, DRAFT_BINDING_FORTRAN, DRAFT_BINDING_F08 };

/* The result of draft_get_function: a function and the arguments to pass to it. */
typedef struct Next Next;

#ifdef DRAFT_OVER_MPI_H
/* ---- MPICH's mpi.h --------------------------------------------------------------------------- */

#define DRAFT_FUNCTIONS MPI_LAST_FUNC_T
#define DRAFT_NUMBERS_MPI_FILE 0 /* whether the enumeration has MPI_File_* … */
#define DRAFT_NUMBERS_MPI_T 0    /* … and MPI_T_* */

struct Next {
    void (*function)(void);
    int id;
};

#define SELF QMPI_Context context, int self_id
#define SELF_ID() (self_id)
#define NEXT_CALL(next, X) ((QMPI_##X##_t *)(next).function)
#define NEXT_ARGUMENTS(next) context, (next).id

static inline int draft_register_tool_function(int tool_id, int fn, void (*function)(void))
{
    return QMPI_Register_function(tool_id, fn, function);
}

static inline int draft_get_storage(QMPI_Context context, int tool_id, void **storage)
{
    return QMPI_Get_tool_storage(context, tool_id, storage);
}

/* MPICH gives a string of hexadecimal digits. */
static inline int draft_get_calling_address(QMPI_Context context, int tool_id, void **address)
{
    void *text = NULL;
    int code = QMPI_Get_calling_address(context, address ? &text : NULL);
    (void)tool_id;
    if (code == MPI_SUCCESS && address)
        *address = text ? (void *)strtoull((const char *)text, NULL, 16) : NULL;
    return code;
}

/* MPICH does not have this call. */
static inline int draft_get_binding(QMPI_Context context, int *binding)
{
    (void)context;
    (void)binding;
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

static inline int draft_get_function(int tool_id, int fn, Next *next)
{
    return QMPI_Get_function(tool_id, fn, &next->function, &next->id);
}

static inline int draft_same(const Next *one, const Next *other)
{
    return one->function == other->function && one->id == other->id;
}

/* Passes NULL for the first output if `which` is 0, and for the second one if it is 1. */
static inline int draft_get_function_null(int tool_id, int fn, int which, Next *next)
{
    return QMPI_Get_function(tool_id, fn, which == 0 ? NULL : &next->function,
                             which == 1 ? NULL : &next->id);
}

#else
/* ---- <qmpi/qmpi.h> --------------------------------------------------------------------------- */

#include <qmpi/qmpi.h>

#define DRAFT_FUNCTIONS MPI_LAST_FUNC
#define DRAFT_NUMBERS_MPI_FILE 1
#define DRAFT_NUMBERS_MPI_T 1

struct Next {
    void (*function)(void);
    QMPI_Context context;
};

#define SELF QMPI_Context context
#define SELF_ID() draft_self_id(context)
#define NEXT_CALL(next, X) ((QMPI_##X##_t *)(next).function)
#define NEXT_ARGUMENTS(next) (next).context

static inline int draft_self_id(QMPI_Context context)
{
    int id = -1;
    QMPIX_Context_get_tool_id(context, &id);
    return id;
}

static inline int draft_register_tool_function(int tool_id, int fn, void (*function)(void))
{
    return QMPI_Register_tool_function(tool_id, (enum QMPI_Functions_enum)fn, function);
}

static inline int draft_get_storage(QMPI_Context context, int tool_id, void **storage)
{
    return QMPI_Context_get_storage(context, tool_id, storage);
}

static inline int draft_get_calling_address(QMPI_Context context, int tool_id, void **address)
{
    return QMPI_Context_get_calling_address(context, tool_id, address);
}

static inline int draft_get_binding(QMPI_Context context, int *binding)
{
    QMPIX_Binding found;
    int code = QMPIX_Context_get_binding(context, &found);
    if (code == MPI_SUCCESS)
        *binding = (int)found;
    return code;
}

static inline int draft_get_function(int tool_id, int fn, Next *next)
{
    return QMPI_Get_function(tool_id, (enum QMPI_Functions_enum)fn, &next->function,
                             &next->context);
}

static inline int draft_same(const Next *one, const Next *other)
{
    return one->function == other->function && one->context == other->context;
}

static inline int draft_get_function_null(int tool_id, int fn, int which, Next *next)
{
    return QMPI_Get_function(tool_id, (enum QMPI_Functions_enum)fn,
                             which == 0 ? NULL : &next->function,
                             which == 1 ? NULL : &next->context);
}

#endif

static inline int draft_register_tool_name(const char *name, void (*init)(int tool_id))
{
    return QMPI_Register_tool_name(name, init);
}

static inline int draft_register_tool_storage(int tool_id, void *storage)
{
    return QMPI_Register_tool_storage(tool_id, storage);
}

#endif
