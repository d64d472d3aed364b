/* SPDX-License-Identifier: MIT */
/*
 * A tool that wraps attribute functions: a PMPI tool or, with NATIVE, a native tool. It prints the
 * values of some predefined attributes, as C reads them, and the values to which other attributes
 * are set. The variable REDIRECT_ATTRIBUTES selects what else it does:
 *   ask         gets and sets attributes for itself, before and after each call
 *   buffer      lets the next layer store the value in a variable of the tool, and copies it
 *   replace     passes on a duplicate of MPI_COMM_WORLD instead of it
 *   lower       returns an MPI_TAG_UB of its own
 *   hide        returns that there is no MPI_TAG_UB, and does not call the next layer
 *   translate   (PMPI tool) passes calls of MPI 1 on as calls of the functions that replaced them
 */
#define _GNU_SOURCE
#include "trace.h"

#ifdef NATIVE
#include <qmpi/qmpi.h>
#define LAYER "native"
#define WRAPPER(X, ...) static int layer_##X(QMPI_Context context, __VA_ARGS__)
#define NEXT(X, ...) QMPIX_NEXT(context, X)(QMPIX_NEXT_CONTEXT(context), __VA_ARGS__)
#else
#include <mpi.h>
#define LAYER "PMPI"
#define WRAPPER(X, ...) int MPI_##X(__VA_ARGS__)
#define NEXT(X, ...) PMPI_##X(__VA_ARGS__)
#endif

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static int does(const char *what)
{
    const char *mode = getenv("REDIRECT_ATTRIBUTES");
    return mode && !strcmp(mode, what);
}

static MPI_Comm instead_of(MPI_Comm comm)
{
    static MPI_Comm duplicate = MPI_COMM_NULL;
    if (comm != MPI_COMM_WORLD || !does("replace"))
        return comm;
    if (duplicate == MPI_COMM_NULL)
        PMPI_Comm_dup(comm, &duplicate);
    return duplicate;
}

static void complain(const char *what)
{
    trace(LAYER " finds %s wrong", what);
}

/* Makes calls for the tool itself. If it is a native tool, no layer sees them; if it is a PMPI
 * tool, the layers below do. */
static void ask(void)
{
    static int keyval = MPI_KEYVAL_INVALID;
    int *limit = NULL, found = 0;
    void *value = NULL;
    if (!does("ask"))
        return;
    PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &found);
    if (!found || *limit < 32767)
        complain("MPI_TAG_UB");
    if (keyval == MPI_KEYVAL_INVALID)
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    PMPI_Comm_set_attr(MPI_COMM_WORLD, keyval, &keyval);
    PMPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, &found);
    if (!found || value != &keyval)
        complain("its own attribute");
}

/* The predefined attributes whose values are printed. */
static const struct {
    int keyval;
    const char *name;
} predefined_key[] = {{MPI_TAG_UB, "MPI_TAG_UB"},
                      {MPI_HOST, "MPI_HOST"},
                      {MPI_WIN_SIZE, "MPI_WIN_SIZE"},
                      {MPI_WIN_DISP_UNIT, "MPI_WIN_DISP_UNIT"}};

static void note_got(const char *function, int keyval, void *value, int found)
{
    for (size_t i = 0; i < sizeof predefined_key / sizeof *predefined_key; i++) {
        if (predefined_key[i].keyval == keyval && found)
            trace(LAYER " %s %s %ld", function, predefined_key[i].name,
                  keyval == MPI_WIN_SIZE ? (long)**(MPI_Aint **)value : (long)**(int **)value);
    }
}

/* Defines the wrapper of a function that gets an attribute. INSTEAD returns the handle to pass on.
 * ON is the next function. With `ask`, the attribute is queried once more by AGAIN, whose result
 * must be the same. */
#define GET(X, HANDLE, INSTEAD, ON, AGAIN)                                                         \
    WRAPPER(X, HANDLE handle, int keyval, void *value, int *flag)                                  \
    {                                                                                              \
        static int limit = 4095;                                                                   \
        void *mine = NULL, *once_more = NULL;                                                      \
        void *place = does("buffer") ? (void *)&mine : value;                                      \
        int found = 0;                                                                             \
        if (does("hide") && keyval == MPI_TAG_UB) {                                                \
            *flag = 0;                                                                             \
            return MPI_SUCCESS;                                                                    \
        }                                                                                          \
        ask();                                                                                     \
        const int result = ON(INSTEAD(handle), keyval, place, flag);                               \
        ask();                                                                                     \
        if (result != MPI_SUCCESS || !*flag)                                                       \
            return result;                                                                         \
        if (does("ask") && (AGAIN(INSTEAD(handle), keyval, &once_more, &found) != MPI_SUCCESS ||   \
                            !found || memcmp(&once_more, value, sizeof once_more) != 0))           \
            complain("an attribute");                                                              \
        if (does("buffer"))                                                                        \
            memcpy(value, &mine, sizeof mine);                                                     \
        note_got(#X, keyval, value, *flag);                                                        \
        if (does("lower") && keyval == MPI_TAG_UB)                                                 \
            *(int **)value = &limit;                                                               \
        return result;                                                                             \
    }
#define SET(X, HANDLE, INSTEAD, ON)                                                                \
    WRAPPER(X, HANDLE handle, int keyval, void *value)                                             \
    {                                                                                              \
        trace(LAYER " %s %ld", #X, (long)(intptr_t)value);                                         \
        ask();                                                                                     \
        const int result = ON(INSTEAD(handle), keyval, value);                                     \
        ask();                                                                                     \
        return result;                                                                             \
    }
#define SAME(handle) (handle)

#define NEXT_Comm_get_attr(...) NEXT(Comm_get_attr, __VA_ARGS__)
#define NEXT_Comm_set_attr(...) NEXT(Comm_set_attr, __VA_ARGS__)
#define NEXT_Type_get_attr(...) NEXT(Type_get_attr, __VA_ARGS__)
#define NEXT_Type_set_attr(...) NEXT(Type_set_attr, __VA_ARGS__)
#define NEXT_Win_get_attr(...) NEXT(Win_get_attr, __VA_ARGS__)
#define NEXT_Win_set_attr(...) NEXT(Win_set_attr, __VA_ARGS__)
#ifdef NATIVE
#define NEXT_Attr_get(...) NEXT(Attr_get, __VA_ARGS__)
#define NEXT_Attr_put(...) NEXT(Attr_put, __VA_ARGS__)
#else
#define NEXT_Attr_get(...)                                                                         \
    (does("translate") ? PMPI_Comm_get_attr(__VA_ARGS__) : PMPI_Attr_get(__VA_ARGS__))
#define NEXT_Attr_put(...)                                                                         \
    (does("translate") ? PMPI_Comm_set_attr(__VA_ARGS__) : PMPI_Attr_put(__VA_ARGS__))
#endif

GET(Comm_get_attr, MPI_Comm, instead_of, NEXT_Comm_get_attr, NEXT_Comm_get_attr)
GET(Type_get_attr, MPI_Datatype, SAME, NEXT_Type_get_attr, PMPI_Type_get_attr)
GET(Win_get_attr, MPI_Win, SAME, NEXT_Win_get_attr, PMPI_Win_get_attr)
GET(Attr_get, MPI_Comm, instead_of, NEXT_Attr_get, PMPI_Comm_get_attr)
SET(Comm_set_attr, MPI_Comm, instead_of, NEXT_Comm_set_attr)
SET(Type_set_attr, MPI_Datatype, SAME, NEXT_Type_set_attr)
SET(Win_set_attr, MPI_Win, SAME, NEXT_Win_set_attr)
SET(Attr_put, MPI_Comm, instead_of, NEXT_Attr_put)

/* With `replace`, these functions must also use the duplicate of MPI_COMM_WORLD. */
WRAPPER(Comm_dup, MPI_Comm comm, MPI_Comm *copy)
{
    return NEXT(Comm_dup, instead_of(comm), copy);
}

WRAPPER(Comm_delete_attr, MPI_Comm comm, int keyval)
{
    return NEXT(Comm_delete_attr, instead_of(comm), keyval);
}

WRAPPER(Attr_delete, MPI_Comm comm, int keyval)
{
    return NEXT(Attr_delete, instead_of(comm), keyval);
}

WRAPPER(Comm_set_errhandler, MPI_Comm comm, MPI_Errhandler handler)
{
    return NEXT(Comm_set_errhandler, instead_of(comm), handler);
}

#ifdef NATIVE
static void init(int tool_id)
{
#define REGISTER(NUMBER, X) QMPI_Register_tool_function(tool_id, NUMBER, (void (*)(void))layer_##X);
    REGISTER(MPI_COMM_GET_ATTR_T, Comm_get_attr)
    REGISTER(MPI_TYPE_GET_ATTR_T, Type_get_attr)
    REGISTER(MPI_WIN_GET_ATTR_T, Win_get_attr)
    REGISTER(MPI_ATTR_GET_T, Attr_get)
    REGISTER(MPI_COMM_SET_ATTR_T, Comm_set_attr)
    REGISTER(MPI_TYPE_SET_ATTR_T, Type_set_attr)
    REGISTER(MPI_WIN_SET_ATTR_T, Win_set_attr)
    REGISTER(MPI_ATTR_PUT_T, Attr_put)
    REGISTER(MPI_COMM_DUP_T, Comm_dup)
    REGISTER(MPI_COMM_DELETE_ATTR_T, Comm_delete_attr)
    REGISTER(MPI_ATTR_DELETE_T, Attr_delete)
    REGISTER(MPI_COMM_SET_ERRHANDLER_T, Comm_set_errhandler)
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("native_attributes", init);
}
#endif
