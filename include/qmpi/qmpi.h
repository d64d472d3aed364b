/* SPDX-License-Identifier: MIT */
/*
 * QMPI: several MPI tools at once on one unmodified program.
 *
 * The tool writer's interface: the calls of the QMPI draft of the MPI Forum's Tools Working Group
 * (prefix QMPI_) and what this implementation adds to them (prefix QMPIX_). It includes <mpi.h>;
 * the two may be included in any order. Where an mpi.h declares an older QMPI draft, the names that
 * the two share mean this one's in every file that includes <qmpi/qmpi.h>.
 *
 * A tool announces itself under a name; the environment variable QMPI_TOOLS names the tools of a
 * run, in order. One use of a tool at one position is a layer; its number, the tool_id, is 1
 * nearest the application and grows downwards; 0 is the MPI library itself.
 *
 * Every call returns an MPI error class, MPI_SUCCESS where it succeeded. No call invokes an MPI
 * error handler. Outputs are set only on success. NULL pointers, unknown tool_ids and unknown
 * function numbers are errors (MPI_ERR_ARG), never crashes. Unless its description says otherwise a
 * call may be made from any thread at any time, before MPI_Init and after MPI_Finalize too.
 */
#ifndef QMPI_QMPI_H
#define QMPI_QMPI_H

#include <mpi.h>
#include <stdarg.h>
#include <stddef.h>

#if defined(OPEN_MPI)
#include <qmpi/openmpi/functions.h>
#elif defined(MPICH_VERSION)
#include <qmpi/mpich/functions.h>
#else
#error "qmpi: this mpi.h is neither MPICH's nor Open MPI's"
#endif

#if defined(__GNUC__)
#define QMPI_API __attribute__((visibility("default")))
#else
#define QMPI_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The node behind a context: part of the ABI, opaque to tools -------------------------------
 */

/* One layer's place in the chain of one function; never changed or freed once it is published. */
struct QMPIX_Node {
    void (*function)(void);        /* the interceptor; in the last node the base */
    const struct QMPIX_Node *next; /* the node below; NULL in the last one */
    int tool_id;                   /* the layer; 0 in the last node */
    int function_id;               /* enum QMPI_Functions_enum */
    const void *data;              /* the dispatcher's own: not NULL in a hosted layer's node */
};

/* The stack, as the inline functions below read it. */
struct QMPIX_Stack {
    int layers;    /* tool_ids are 1 … layers */
    int functions; /* function numbers are 0 … functions - 1 */
    const QMPI_Context *const
        *below;           /* [tool_id][number]: the next node below; row NULL: not yet */
    void *const *storage; /* [tool_id] */
};
QMPI_API extern struct QMPIX_Stack QMPIX_stack;

/* ---- Announcing a tool -------------------------------------------------------------------------
 */

/*
 * Announces a tool, usually from a constructor of its library. `init` runs once for every layer of
 * the tool, with that layer's tool_id, before the first MPI call is carried out and in the thread
 * that makes it; the lowest layer comes first. MPI calls that `init` makes go to the layers below.
 *
 * An exception that leaves `init` is caught: the layer cannot work then.
 *
 *   tool_name  1 to 255 characters, none of them `/`; copied.
 *
 * MPI_ERR_ARG: a NULL or bad argument, or a name that is taken. MPI_ERR_OTHER: the stack is built
 * already. QMPI draft, "Tool registration".
 */
QMPI_API int QMPI_Register_tool_name(const char *tool_name, void (*init)(int tool_id));

/*
 * Notes the layer's own data, to be asked for with QMPI_Context_get_storage. It stays the tool's
 * and may be NULL. To be called from `init`, for the layer that it is given: otherwise
 * MPI_ERR_OTHER. QMPI draft, "Tool registration".
 */
QMPI_API int QMPI_Register_tool_storage(int tool_id, void *storage);

/*
 * Intercepts one function in this layer: `fp` is a QMPI_X_t, cast. Called twice for one function,
 * the last call holds. A function that this MPI lacks may be registered; it is never called. To be
 * called from `init`, for the layer that it is given: otherwise MPI_ERR_OTHER.
 * QMPI draft, "Tool registration".
 */
QMPI_API int QMPI_Register_tool_function(int tool_id, enum QMPI_Functions_enum fn,
                                         void (*fp)(void));

/* ---- Inside an interceptor ---------------------------------------------------------------------
 */

/*
 * The data that layer `tool_id` registered; NULL if it registered none. `context` is the one that
 * an interceptor was called with. QMPI draft, "Context".
 */
static inline int QMPI_Context_get_storage(QMPI_Context context, int tool_id, void **storage)
{
    if (!context || !storage || tool_id < 1 || tool_id > QMPIX_stack.layers)
        return MPI_ERR_ARG;
    *storage = QMPIX_stack.storage[tool_id];
    return MPI_SUCCESS;
}

/*
 * Stores a `void *` at `address`: the caller, that is the address in the application (or in the
 * tool, where a tool called MPI_X) to which the present MPI call of this thread returns. NULL
 * outside a call. QMPI draft, "Context".
 */
QMPI_API int QMPI_Context_get_calling_address(QMPI_Context context, int tool_id, void *address);

/*
 * The next interceptor below layer `tool_id` for function `fn`, and the context to call it with;
 * the base (the MPI library's own function) where no layer below intercepts it. Valid for every
 * layer and every function, whether or not that layer intercepts it; both results may be cached.
 * MPI_ERR_ARG also: a function that this MPI lacks. QMPI draft, "Calling the next tool".
 */
static inline int QMPI_Get_function(int tool_id, enum QMPI_Functions_enum fn, void (**fp)(void),
                                    QMPI_Context *next)
{
    QMPI_Context node;
    if ((unsigned)tool_id - 1U >= (unsigned)QMPIX_stack.layers ||
        (unsigned)fn >= (unsigned)QMPIX_stack.functions || !fp || !next)
        return MPI_ERR_ARG;
    if (!QMPIX_stack.below[tool_id])
        return MPI_ERR_ARG; /* a layer above the one that is being initialised */
    node = __atomic_load_n(&QMPIX_stack.below[tool_id][fn], __ATOMIC_ACQUIRE);
    if (!node)
        return MPI_ERR_ARG;
    *fp = node->function;
    *next = node;
    return MPI_SUCCESS;
}

/*
 * The shortest way on: from the context that an interceptor was called with.
 *     return QMPIX_NEXT(c, Send)(QMPIX_NEXT_CONTEXT(c), buf, count, datatype, dest, tag, comm);
 */
#define QMPIX_NEXT(c, X) ((QMPI_##X##_t *)(c)->next->function)
#define QMPIX_NEXT_CONTEXT(c) ((c)->next)

/* The layer in which the interceptor with this context runs. */
static inline int QMPIX_Context_get_tool_id(QMPI_Context context, int *tool_id)
{
    if (!context || !tool_id)
        return MPI_ERR_ARG;
    *tool_id = context->tool_id;
    return MPI_SUCCESS;
}

/* ---- What a tool says of itself, and its options ------------------------------------------------
 */

typedef struct QMPIX_Tool_option {
    const char *name;          /* key in `key=value`; `set.*`: all keys that begin with `set.`, of
                                * which QMPIX_Tool_get_given_option tells; NULL ends the array */
    const char *default_value; /* NULL: none */
    const char *help;          /* one line */
} QMPIX_Tool_option;

typedef struct QMPIX_Tool_info {
    size_t size;                      /* sizeof(QMPIX_Tool_info) */
    const char *description;          /* one line */
    const char *version;              /* NULL: none */
    const QMPIX_Tool_option *options; /* every option that the tool knows; NULL: it has none */
} QMPIX_Tool_info;

/*
 * Describes an announced tool: to be called after QMPI_Register_tool_name, usually from the same
 * constructor. An option of a QMPI_TOOLS entry that is not among `options` is then an error. A tool
 * that describes nothing gets every option that it is given. `info` is not copied: it and all that
 * it points to must live for the whole run. MPI_ERR_ARG also: no tool of this name.
 */
QMPI_API int QMPIX_Register_tool_info(const char *tool_name, const QMPIX_Tool_info *info);

/*
 * The value of an option of this layer: as given, else its default. The string lives for the whole
 * run. MPI_ERR_INFO_NOKEY: neither given nor with a default.
 */
QMPI_API int QMPIX_Tool_get_option(int tool_id, const char *key, const char **value);

/*
 * The options that the layer's entry of QMPI_TOOLS gives, in its order: 0, 1, … For tools that know
 * a key by its beginning only. The strings live for the whole run. MPI_ERR_ARG also: no more.
 */
QMPI_API int QMPIX_Tool_get_given_option(int tool_id, int index, const char **key,
                                         const char **value);

/*
 * From `init`: this layer cannot work; `message` (copied) says why; a last
 * line that begins with `hint: ` says what to do. The run then stops before any
 * MPI call is carried out, or goes on without the layer if QMPI_ON_ERROR=skip. Outside the layer's
 * own `init`: MPI_ERR_OTHER.
 */
QMPI_API int QMPIX_Tool_fail(int tool_id, const char *message);

/* ---- Who is in the stack ------------------------------------------------------------------------
 */

/* The number of layers: tool_ids are 1 … count. Before the first MPI call 0. */
QMPI_API int QMPIX_Tool_count(int *count);

/* The name of the layer's tool. The string lives for the whole run. */
QMPI_API int QMPIX_Tool_get_name(int tool_id, const char **name);

/*
 * The file that the layer's tool came from; for a tool that is linked into the program the
 * program's. The string lives for the whole run.
 */
QMPI_API int QMPIX_Tool_get_library(int tool_id, const char **path);

/* What the layer's tool registered with QMPIX_Register_tool_info; NULL if nothing. */
QMPI_API int QMPIX_Tool_get_info(int tool_id, const QMPIX_Tool_info **info);

/*
 * How the layer is bound, in words for people: "native", or for a hosted PMPI tool how it reaches
 * PMPI and its private dependencies. The string lives for the whole run.
 */
QMPI_API int QMPIX_Tool_get_binding(int tool_id, const char **text);

/* Whether the layer intercepts `fn`: 1 or 0. */
QMPI_API int QMPIX_Tool_intercepts(int tool_id, enum QMPI_Functions_enum fn, int *flag);

/*
 * Switches a layer off (`enabled` 0) or on again. Off, it is not called, and its functions cost
 * what they would cost without it. When the call returns, the stack is changed for every call that
 * begins; calls that are under way, also in other threads, may go on in the old one. Layers are on
 * at first. Any thread, at any time after start-up: not in `init`, not in a signal handler.
 *
 * Pointers to next functions that a layer keeps stay callable and lead on as they led; see
 * QMPIX_Register_stack_changed. Those of a hosted PMPI tool are changed for it, but for answers of
 * dlsym that it keeps; a message says so. A layer that is off sees no MPI_Finalize, unless it asked
 * for it with QMPIX_Tool_keep_function.
 *
 * MPI_ERR_OTHER: the stack is not built yet, or this system does not let references be changed;
 * then nothing has changed. MPI_ERR_UNSUPPORTED_OPERATION: the tool is part of the program itself,
 * which calls it without asking anybody.
 */
QMPI_API int QMPIX_Tool_set_enabled(int tool_id, int enabled);

/* Whether the layer is on: 1 or 0. */
QMPI_API int QMPIX_Tool_get_enabled(int tool_id, int *enabled);

/*
 * Has the layer called for `fn`, which it intercepts, also while it is switched off; there it asks
 * QMPIX_Tool_get_enabled what it is to do. For what all ranks must do if one does, since a rank may
 * be switched alone: MPI_Finalize, if the tool brings the ranks together in it. And for what must
 * not be missed, such as the end of handles that it knows. To be called from `init`, for the layer
 * that it is given: otherwise MPI_ERR_OTHER.
 */
QMPI_API int QMPIX_Tool_keep_function(int tool_id, enum QMPI_Functions_enum fn);

struct sigaction;

/*
 * As sigaction of <signal.h>, for tools that have something to say when a signal ends the process.
 * `old` gets the action that there is, be it another tool's; `action` and `old` may be NULL. A
 * handler that is set with `own` not 0 is not seen by the program, whose sigaction, signal and the
 * like give what was there before; where the program sets that again, the tool's handler comes
 * back. A handler that the program sets takes its place. With `own` 0 the tool puts back what it
 * found.
 *
 * With `own` 0 it may be called in a signal handler. MPI_ERR_ARG: the system's sigaction refuses.
 */
QMPI_API int QMPIX_Tool_sigaction(int number, const struct sigaction *action, struct sigaction *old,
                                  int own);

/*
 * Has `callback` called whenever a layer, any layer, was switched off or on: with the tool_id given
 * here, in the thread that switched, before its QMPIX_Tool_set_enabled returns. Then
 * QMPI_Get_function gives the layer's new next functions. Layers that are off are called back too.
 * Two threads that switch may call back at the same time. The callback may make any call, even
 * switch a layer. To be called from `init` on, from any thread; called again, the last callback
 * holds.
 */
QMPI_API int QMPIX_Register_stack_changed(int tool_id, void (*callback)(int tool_id));

/*
 * The tools announced so far, in the stack or not, in the order of their announcing: 0 … count - 1.
 * `info` is set to NULL for a tool that described nothing. The strings live for the whole run.
 */
QMPI_API int QMPIX_Announced_count(int *count);
QMPI_API int QMPIX_Announced_get(int index, const char **name, const QMPIX_Tool_info **info);

/* ---- Function names -----------------------------------------------------------------------------
 */

/* "MPI_Send" for MPI_SEND_T; NULL where there is no such number. The string is constant. */
QMPI_API const char *QMPIX_Function_name(enum QMPI_Functions_enum fn);

/* MPI_SEND_T for "MPI_Send". MPI_ERR_ARG: no such function. */
QMPI_API int QMPIX_Function_id(const char *name, enum QMPI_Functions_enum *fn);

/* Whether the MPI that this library was built for has the function: 1 or 0. */
QMPI_API int QMPIX_Function_exists(enum QMPI_Functions_enum fn, int *flag);

/* ---- MPI_Pcontrol -------------------------------------------------------------------------------
 */

/*
 * MPI_Pcontrol is variadic and nobody knows what it was given. An interceptor passes on the first 8
 * integers or pointers and the first 8 doubles, which travel in separate registers:
 *
 *     QMPIX_PCONTROL_READER static int my_Pcontrol(QMPI_Context c, const int level, ...)
 *     {
 *         QMPIX_Pcontrol_words words;
 *         QMPIX_PCONTROL_READ(words, level);
 *         return QMPIX_NEXT(c, Pcontrol)(QMPIX_NEXT_CONTEXT(c), level, QMPIX_PCONTROL_PASS(words));
 *     }
 *
 * Only words that the application did give mean anything: what they are, `level` must tell.
 */
typedef struct QMPIX_Pcontrol_words {
    long word[8];
    double real[8];
} QMPIX_Pcontrol_words;

#define QMPIX_PCONTROL_READ(words, last)                                                           \
    do {                                                                                           \
        va_list qmpix_list;                                                                        \
        int qmpix_i;                                                                               \
        va_start(qmpix_list, last);                                                                \
        for (qmpix_i = 0; qmpix_i < 8; qmpix_i++)                                                  \
            (words).word[qmpix_i] = va_arg(qmpix_list, long);                                      \
        for (qmpix_i = 0; qmpix_i < 8; qmpix_i++)                                                  \
            (words).real[qmpix_i] = va_arg(qmpix_list, double);                                    \
        va_end(qmpix_list);                                                                        \
    } while (0)

#define QMPIX_PCONTROL_PASS(words)                                                                 \
    (words).word[0], (words).word[1], (words).word[2], (words).word[3], (words).word[4],           \
        (words).word[5], (words).word[6], (words).word[7], (words).real[0], (words).real[1],       \
        (words).real[2], (words).real[3], (words).real[4], (words).real[5], (words).real[6],       \
        (words).real[7]

/* Reading more words than were given looks wrong to AddressSanitizer; it is not. */
#if defined(__GNUC__)
#define QMPIX_PCONTROL_READER __attribute__((no_sanitize_address))
#else
#define QMPIX_PCONTROL_READER
#endif

#ifdef __cplusplus
}
#endif
#endif
