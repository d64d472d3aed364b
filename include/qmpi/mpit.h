/* SPDX-License-Identifier: MIT */
/*
 * MPI_T variables that layers publish.
 *
 * A layer publishes performance variables, control variables, categories and enumerations. The
 * application, every layer and every tool that uses MPI_T then finds them among the MPI library's
 * own, through the standard calls of the MPI standard's chapter "Tool Support" (section "The MPI
 * Tool Information Interface"), wherever in the stack the publisher stands. Layers that call
 * PMPI_T_X see the MPI library's own alone.
 *
 * Names. What tool TOOL publishes as NAME is called `qmpi.TOOL.NAME`; if the tool is in the stack
 * several times, its second layer's is `qmpi.TOOL#2.NAME`, and so on. QMPIX_BARE_NAME asks for NAME
 * alone, which is given if neither the MPI library nor another layer has a variable of that name;
 * else the long name is. NAME is 1 to 255 printable characters.
 *
 * All that is published stays for the whole run. Strings, arrays and the structures themselves are
 * copied; what `address`, `user` and the callbacks point to stays the publisher's and must live as
 * long as the process. The calls may be made for any existing layer from its `init` on, by any
 * thread, but not in a signal handler. Asking for an index, or for a bare name, initialises MPI_T
 * of the MPI library, which reads its own environment then: a layer that is to change that
 * environment does so before.
 *
 * Errors (MPI error classes; nothing calls an error handler): MPI_ERR_ARG where an argument or a
 * field is not as described, where there is no such layer, where what the name becomes is taken (of
 * performance variables within their class, as in the standard), or where there are a million of
 * that sort; MPI_ERR_NO_MEM where QMPIX_Enum_create finds no room. docs/write/mpi_t.md has a whole
 * example.
 */
#ifndef QMPI_MPIT_H
#define QMPI_MPIT_H

#include <qmpi/qmpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of what is published. */
enum {
    QMPIX_BARE_NAME = 1 << 0, /* NAME alone, where it is free */
    /* Of performance variables; the standard's flags of MPI_T_pvar_get_info. */
    QMPIX_PVAR_READONLY = 1 << 1,   /* cannot be written or reset */
    QMPIX_PVAR_CONTINUOUS = 1 << 2, /* always active; cannot be started or stopped */
    QMPIX_PVAR_ATOMIC = 1 << 3      /* MPI_T_pvar_readreset works */
};

/*
 * Callbacks of a variable. `user` is the one that it was published with. `object` points to a copy
 * of the handle of the MPI object (MPI_Comm, MPI_Win, …) that the variable was bound to when the
 * MPI_T handle was allocated; NULL for variables without binding. `count` elements of the
 * variable's datatype are read or written. They return MPI_SUCCESS or an MPI_T error code (for a
 * control variable MPI_T_ERR_CVAR_SET_NOT_NOW, say), which goes to the caller as it is. They are
 * called in the caller's thread without any lock of ours held: whoever reads from several threads
 * calls them from several threads. They may call MPI_T. An MPI_T handle that is bound to an object
 * is not freed while another thread's callback is under way with that object: freeing waits, so a
 * callback must not wait for a thread that frees handles.
 */
typedef int QMPIX_Var_read(void *user, const void *object, void *buffer, int count);
typedef int QMPIX_Var_write(void *user, const void *object, const void *buffer, int count);
typedef int QMPIX_Var_reset(void *user, const void *object);

/*
 * Asked when a handle is allocated: sets `count` (the published one before the call) to the number
 * of elements for this object, at least 1; or refuses: MPI_T_ERR_INVALID_HANDLE.
 */
typedef int QMPIX_Var_open(void *user, const void *object, int *count);

/*
 * A performance variable.
 *
 * Its value comes from `address` (`count` elements in memory, which the publisher changes with
 * atomic operations or with single aligned stores) or from `read`; one of them is NULL. A variable
 * that is bound to an object, or whose count `open` tells, has `read`.
 *
 * Each handle has a value of its own, as the standard demands of sessions:
 *   COUNTER, AGGREGATE, TIMER   The publisher only ever adds. A handle's value is what was added
 *       since it was started or last reset; of a continuous variable since the publisher began.
 *       Writing and resetting change the handle's value, never what the publisher has.
 *   HIGHWATERMARK, LOWWATERMARK   The publisher gives the present level, and calls
 *       QMPIX_Pvar_sample after each change. A handle's value is the highest (lowest) level since
 *       it was started, allocated (continuous) or last reset.
 *   STATE, LEVEL, SIZE, PERCENTAGE, GENERIC   A started handle's value is the publisher's present
 *       one; a stopped handle's the one when it stopped. Writing (where it is not READONLY) goes to
 *       `address` or `write`, and so to all. Resetting makes a stopped handle's value the present
 *       one too; of GENERIC ones it changes that first, for all: to the value that it had when the
 *       variable was published, or by `reset`.
 * Where the MPI standard allows a class fewer datatypes than MPI_T has, so do we; LEVEL may be
 * MPI_INT too, as in the standard's example.
 *
 * Reading, writing, resetting, starting and stopping a handle of a variable with `address` takes no
 * lock and no memory: it may be done in a signal handler. MPI_T_PVAR_ALL_HANDLES may not.
 */
typedef struct QMPIX_Pvar {
    size_t size;             /* sizeof(QMPIX_Pvar) */
    const char *name;        /* NAME */
    const char *description; /* NULL: none */
    int verbosity;           /* MPI_T_VERBOSITY_…; 0: MPI_T_VERBOSITY_USER_BASIC */
    int var_class;           /* MPI_T_PVAR_CLASS_… */
    MPI_Datatype datatype;
    int count;            /* of elements; 0: 1 */
    MPI_T_enum enumtype;  /* what MPI_INT values mean; MPI_T_ENUM_NULL: nothing special */
    int bind;             /* MPI_T_BIND_…; 0: MPI_T_BIND_NO_OBJECT */
    int flags;            /* QMPIX_BARE_NAME, QMPIX_PVAR_… */
    const char *category; /* NAME of one of the layer's categories; NULL: the layer's own */
    void *address;
    QMPIX_Var_read *read;
    QMPIX_Var_write *write; /* STATE … GENERIC without `address` that are not READONLY; else NULL */
    QMPIX_Var_reset *reset; /* GENERIC, likewise; NULL: resetting is refused */
    QMPIX_Var_open *open;   /* NULL: any object, `count` elements; else there is no `address` */
    void *user;
} QMPIX_Pvar;

/* Publishes a performance variable; `index` is set to its index, or NULL: not wanted. */
QMPI_API int QMPIX_Pvar_create(int tool_id, const QMPIX_Pvar *pvar, int *index);

/*
 * Tells the started handles of a watermark that its level has changed. Costs a few instructions
 * while there are none. Any thread; in a signal handler where the variable has an `address`.
 * MPI_ERR_ARG: no published HIGHWATERMARK or LOWWATERMARK has this index.
 */
QMPI_API int QMPIX_Pvar_sample(int index);

/*
 * A control variable: `count` elements at `address`, or what `read` and `write` do. A string is
 * MPI_CHAR with `count` as the size of its buffer; it is written up to its end, which must fit.
 * Scopes MPI_T_SCOPE_CONSTANT and MPI_T_SCOPE_READONLY cannot be written
 * (MPI_T_ERR_CVAR_SET_NEVER), the others can. Elements at `address` are read and written
 * atomically, one by one.
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
    QMPIX_Var_write *write; /* where it can be written and has no `address`; else NULL */
    QMPIX_Var_open *open;   /* as in QMPIX_Pvar */
    void *user;
} QMPIX_Cvar;

/* Publishes a control variable; `index` is set to its index, or NULL: not wanted. */
QMPI_API int QMPIX_Cvar_create(int tool_id, const QMPIX_Cvar *cvar, int *index);

/*
 * Lets a layer publish only if somebody asks: `publish` runs once, when MPI_T is first initialised
 * through the stack by anyone, above or below the layer, before that call returns; at once if it
 * has been. It runs in the thread that initialises, which holds a lock that others who initialise
 * wait for: it must not wait for other threads' MPI_T calls. Called again before that, the last
 * call holds. May be called from `init` on, by any thread. MPI_ERR_ARG: no such layer, NULL.
 */
QMPI_API int QMPIX_Register_publisher(int tool_id, void (*publish)(int tool_id));

/*
 * A category. The stack has `qmpi`, in it one per layer (`qmpi.TOOL`), and in that what the layer
 * creates: each has the one parent that it was created in, so there are no cycles.
 */
typedef struct QMPIX_Category {
    size_t size; /* sizeof(QMPIX_Category) */
    const char *name;
    const char *description; /* NULL: none */
    const char *parent;      /* NAME of one of the layer's; NULL: the layer's own */
    int flags;               /* QMPIX_BARE_NAME */
} QMPIX_Category;

/* Publishes a category; `index` is set to its index, or NULL: not wanted. */
QMPI_API int QMPIX_Category_create(int tool_id, const QMPIX_Category *category, int *index);

typedef struct QMPIX_Enum_item {
    const char *name;
    int value;
} QMPIX_Enum_item;

/* An enumeration: the names of the values of MPI_INT variables. */
typedef struct QMPIX_Enum {
    size_t size; /* sizeof(QMPIX_Enum) */
    const char *name;
    int count; /* of items, at least 1 */
    const QMPIX_Enum_item *items;
} QMPIX_Enum;

/* Makes an enumeration; `enumtype` is for QMPIX_Pvar and QMPIX_Cvar, and what get_info hands out.
 */
QMPI_API int QMPIX_Enum_create(int tool_id, const QMPIX_Enum *enumeration, MPI_T_enum *enumtype);

#ifdef __cplusplus
}
#endif
#endif
