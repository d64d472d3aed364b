/* SPDX-License-Identifier: MIT */
/*
 * MPI_T variables that layers publish.
 *
 * A layer publishes performance variables, control variables, categories and enumerations. The
 * application, and layers and other tools that call MPI_T_X, find them among those of the MPI
 * library, through the standard calls (MPI standard, chapter "Tool Support", section "The MPI Tool
 * Information Interface"). The position of the publisher in the stack does not matter. QMPI layers
 * that call PMPI_T_X find only those of the MPI library.
 *
 * Names: an item NAME of tool TOOL is named `qmpi.TOOL.NAME`. If the tool is in the stack several
 * times, the item of its second layer is named `qmpi.TOOL#2.NAME`, and so on. QMPIX_BARE_NAME
 * requests the name NAME. It is granted if neither the MPI library nor a layer has an item of this
 * name; otherwise the item gets the long name. NAME has 1 to 255 printable characters.
 *
 * Published items exist for the whole run, but those of a layer that is left out of the stack are
 * hidden. Strings, arrays and the structures are copied; the data behind `address` and `user`, and
 * the callbacks, remain owned by the publisher and must exist as long as the process. The calls may
 * be made for any existing layer, from its `init` on, by any thread, but not in a signal handler.
 * Requesting an index or a bare name initializes MPI_T of the MPI library, which then reads its
 * environment variables; a layer that changes these variables must do so before.
 *
 * Errors are MPI error classes; no error handler is invoked. MPI_ERR_ARG: an argument or a field is
 * invalid, the layer does not exist, the resulting name is taken (for performance variables, within
 * their class, as in the standard), or a million items of this sort exist. MPI_ERR_NO_MEM: memory
 * is exhausted; nothing has been created. docs/write/mpi_t.md contains a complete example.
 */
#ifndef QMPI_MPIT_H
#define QMPI_MPIT_H

#include <qmpi/qmpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of published items. */
enum {
    QMPIX_BARE_NAME = 1 << 0, /* use the name NAME unless it is taken */
    /* Performance variables: the flags that MPI_T_pvar_get_info returns. */
    QMPIX_PVAR_READONLY = 1 << 1,   /* cannot be written or reset */
    QMPIX_PVAR_CONTINUOUS = 1 << 2, /* always active; cannot be started or stopped */
    QMPIX_PVAR_ATOMIC = 1 << 3      /* MPI_T_pvar_readreset works: see QMPIX_Pvar */
};

/*
 * Callbacks of a variable. `user` is the pointer that was published with it. `object` points to a
 * copy of the handle of the MPI object (MPI_Comm, MPI_Win, …) to which the variable was bound when
 * the MPI_T handle was allocated; NULL for variables without binding. The callbacks read or write
 * `count` elements of the variable's datatype. Their result is MPI_SUCCESS or an MPI_T error code,
 * for example MPI_T_ERR_CVAR_SET_NOT_NOW for a control variable. This result is passed to the
 * caller of MPI_T if the call is for a single handle.
 *
 * Callbacks run in the thread of the caller, without a lock of libqmpi. Several threads that read a
 * variable run its callback at the same time. Callbacks may call MPI_T. If MPI_T_PVAR_ALL_HANDLES
 * or QMPIX_Pvar_sample has led to a callback for an MPI_T handle that is bound to an object,
 * another thread that frees the handle waits until the callback has returned. So a callback must
 * not wait for a thread that frees handles.
 */
typedef int QMPIX_Var_read(void *user, const void *object, void *buffer, int count);
typedef int QMPIX_Var_write(void *user, const void *object, const void *buffer, int count);
typedef int QMPIX_Var_reset(void *user, const void *object);

/*
 * Callback for the allocation of a handle. Before the call, `count` is the published number of
 * elements; the callback sets it to the number for this object, at least 1. To refuse the object,
 * it returns MPI_T_ERR_INVALID_HANDLE.
 */
typedef int QMPIX_Var_open(void *user, const void *object, int *count);

/*
 * A performance variable.
 *
 * Its value comes from `address` (`count` elements in memory, which the publisher changes by atomic
 * operations or single aligned stores), or from `read`; one of them is NULL. A variable that is
 * bound to an object, or whose number of elements `open` determines, needs `read`.
 *
 * Each handle has its own value, as the standard requires for sessions:
 *   - COUNTER, AGGREGATE, TIMER: the publisher only adds. The value of a handle is the amount added
 *     while the handle was started, since its allocation or the last reset; for a continuous
 *     variable, everything that the publisher has ever added, or has added since the last reset.
 *     Writing and resetting change the value of the handle, not the publisher's data.
 *   - HIGHWATERMARK, LOWWATERMARK: the publisher provides the current level, and calls
 *     QMPIX_Pvar_sample after each change. The value of a handle is the highest (lowest) level
 *     while the handle was started, since its first start, its allocation (continuous variables) or
 *     the last reset.
 *   - STATE, LEVEL, SIZE, PERCENTAGE, GENERIC: the value of a started handle is the current value
 *     of the publisher; that of a stopped handle is the value when it was stopped. Writing (unless
 *     READONLY) changes the value at `address` or calls `write`, and so affects all handles.
 *     Resetting sets the value of a stopped handle to the current value. For GENERIC variables, it
 *     first resets the current value for all handles: with `address`, to the value at publication;
 *     without `address`, by a call of `reset`. Such a variable without `address` cannot be ATOMIC
 *     unless it is READONLY, because `read` and `reset` are two calls.
 *
 * The datatypes that the MPI standard allows for a class are accepted; also MPI_INT for LEVEL, as
 * in the example of the standard.
 *
 * For a variable with `address`, handles are read, written, reset, started and stopped without
 * locks and memory allocation, so this may be done in a signal handler. MPI_T_PVAR_ALL_HANDLES may
 * not be used there.
 */
typedef struct QMPIX_Pvar {
    size_t size;             /* sizeof(QMPIX_Pvar) */
    const char *name;        /* NAME */
    const char *description; /* NULL: none */
    int verbosity;           /* MPI_T_VERBOSITY_…; 0: MPI_T_VERBOSITY_USER_BASIC */
    int var_class;           /* MPI_T_PVAR_CLASS_… */
    MPI_Datatype datatype;
    int count;            /* number of elements; 0: 1 */
    MPI_T_enum enumtype;  /* meaning of MPI_INT values, from QMPIX_Enum_create;
                             MPI_T_ENUM_NULL: none */
    int bind;             /* MPI_T_BIND_…; 0: MPI_T_BIND_NO_OBJECT */
    int flags;            /* QMPIX_BARE_NAME, QMPIX_PVAR_… */
    const char *category; /* NAME of a category of the layer; NULL: the layer's main one */
    void *address;
    QMPIX_Var_read *read;
    QMPIX_Var_write *write; /* STATE … GENERIC, without `address` and not READONLY; else NULL */
    QMPIX_Var_reset *reset; /* GENERIC, without `address` and not READONLY;
                               NULL: resetting fails */
    QMPIX_Var_open *open;   /* NULL: any object, `count` elements; else leave `address` NULL */
    void *user;
} QMPIX_Pvar;

/* Publishes a performance variable. `index` is set to its index; it may be NULL. */
QMPI_API int QMPIX_Pvar_create(int tool_id, const QMPIX_Pvar *pvar, int *index);

/*
 * Reports to the started handles of a watermark that its level has changed. Without such handles,
 * it costs a few instructions. May be called by any thread, and even in a signal handler if the
 * variable has an `address`. MPI_ERR_ARG: not the index of a published HIGHWATERMARK or
 * LOWWATERMARK.
 */
QMPI_API int QMPIX_Pvar_sample(int index);

/*
 * A control variable. Its value is stored at `address` (`count` elements), or `read` and `write`
 * access it. A string has the datatype MPI_CHAR, and `count` is the size of its buffer. At
 * `address`, a new string must fit with its terminating null character. Variables with the scope
 * MPI_T_SCOPE_CONSTANT or MPI_T_SCOPE_READONLY cannot be written (MPI_T_ERR_CVAR_SET_NEVER), all
 * others can. Each element at `address` is read and written atomically.
 */
typedef struct QMPIX_Cvar {
    size_t size; /* sizeof(QMPIX_Cvar) */
    const char *name;
    const char *description; /* NULL: none */
    int verbosity;           /* 0: MPI_T_VERBOSITY_USER_BASIC */
    MPI_Datatype datatype;
    int count;            /* 0: 1 */
    MPI_T_enum enumtype;  /* as in QMPIX_Pvar */
    int bind;             /* 0: MPI_T_BIND_NO_OBJECT */
    int scope;            /* MPI_T_SCOPE_… */
    int flags;            /* QMPIX_BARE_NAME */
    const char *category; /* as in QMPIX_Pvar */
    void *address;
    QMPIX_Var_read *read;
    QMPIX_Var_write *write; /* if it can be written and `address` is NULL; else NULL */
    QMPIX_Var_open *open;   /* as in QMPIX_Pvar */
    void *user;
} QMPIX_Cvar;

/* Publishes a control variable. `index` is set to its index; it may be NULL. */
QMPI_API int QMPIX_Cvar_create(int tool_id, const QMPIX_Cvar *cvar, int *index);

/*
 * Registers a function that publishes the variables of a layer only when they are needed. `publish`
 * runs once: when MPI_T is first initialized through the stack, from above or below the layer,
 * before the initializing call returns; or at once if MPI_T has been initialized since the stack
 * was complete. `publish` runs in the initializing thread, which holds a lock that other
 * initializing threads wait for, so it must not wait for MPI_T calls of other threads. A second
 * call before `publish` has run replaces it. May be called by any thread, from `init` on.
 * MPI_ERR_ARG: no such layer, or `publish` is NULL.
 */
QMPI_API int QMPIX_Register_publisher(int tool_id, void (*publish)(int tool_id));

/*
 * A category. The category `qmpi` contains one category per layer (`qmpi.TOOL`), which contains the
 * categories that the layer creates. Each category has one parent, given at its creation, so there
 * are no cycles.
 */
typedef struct QMPIX_Category {
    size_t size; /* sizeof(QMPIX_Category) */
    const char *name;
    const char *description; /* NULL: none */
    const char *parent;      /* NAME of a category of the layer; NULL: the layer's main one */
    int flags;               /* QMPIX_BARE_NAME */
} QMPIX_Category;

/* Publishes a category. `index` is set to its index; it may be NULL. */
QMPI_API int QMPIX_Category_create(int tool_id, const QMPIX_Category *category, int *index);

/* A value of an enumeration, and its name. */
typedef struct QMPIX_Enum_item {
    const char *name;
    int value;
} QMPIX_Enum_item;

/* An enumeration: the names of the values of MPI_INT variables. */
typedef struct QMPIX_Enum {
    size_t size; /* sizeof(QMPIX_Enum) */
    const char *name;
    int count; /* number of items, at least 1 */
    const QMPIX_Enum_item *items;
} QMPIX_Enum;

/* Creates an enumeration. `enumtype` is for QMPIX_Pvar and QMPIX_Cvar, and is returned by
 * MPI_T_cvar_get_info and MPI_T_pvar_get_info. MPI_ERR_ARG also: two items have the same name or
 * the same value. */
QMPI_API int QMPIX_Enum_create(int tool_id, const QMPIX_Enum *enumeration, MPI_T_enum *enumtype);

#ifdef __cplusplus
}
#endif
#endif
