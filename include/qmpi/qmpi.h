/* SPDX-License-Identifier: MIT */
/*
 * QMPI: several MPI tools at once on one unmodified program.
 *
 * This is the interface for tool writers. It consists of the calls of the QMPI draft of the MPI
 * Forum's Tools Working Group (prefix QMPI_) and of extensions of this implementation (prefix
 * QMPIX_). The header includes <mpi.h>; both may be included in any order. If mpi.h declares a
 * variant of QMPI, as MPICH's does, the names that both declare refer to this interface in every
 * file that includes <qmpi/qmpi.h>.
 *
 * A tool registers itself under a name. The environment variable QMPI_TOOLS and configuration files
 * (see qmpi.conf(5)) list the tools of a run, in order. One use of a tool at one position of this
 * list is a layer. Layers are numbered by tool_ids: 1 is the layer nearest the application, and the
 * numbers increase towards the MPI library, which has the number 0.
 *
 * A call returns an MPI error class, MPI_SUCCESS if it succeeded, unless its description says
 * otherwise. No call invokes an MPI error handler. Outputs are set only on success. NULL pointers,
 * unknown tool_ids and unknown function numbers are errors (MPI_ERR_ARG); "MPI_ERR_ARG also:" in a
 * description adds a case to these. Unless its description says otherwise, a call may be made by
 * any thread at any time, even before MPI_Init and after MPI_Finalize.
 */
#ifndef QMPI_QMPI_H
#define QMPI_QMPI_H

#include <mpi.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <qmpi/arch/jump.h>

#if defined(OPEN_MPI)
#include <qmpi/openmpi/functions.h>
#elif defined(MPICH_VERSION)
#include <qmpi/mpich/functions.h>
#elif defined(MPI_ABI_VERSION)
#include <qmpi/abi/functions.h>
#else
#error "qmpi: this mpi.h is neither MPICH's nor Open MPI's, nor that of the standard ABI"
#endif

#if defined(__GNUC__)
#define QMPI_API __attribute__((visibility("default")))
#else
#define QMPI_API
#endif

#if !defined(OPEN_MPI) && !defined(MPICH_VERSION) && !defined(QMPI_LIBRARY)
#include <qmpi/abi/names.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The node behind a context: part of the ABI, opaque to tools ----------------------------- */

/* The position of one layer in the chain of one function. Never changed or freed once published. */
struct QMPIX_Node {
    void (*function)(void);        /* the interceptor; in the last node, what calls PMPI_X */
    const struct QMPIX_Node *next; /* the node below; NULL in the last one */
    int tool_id;                   /* the layer; 0 in the last node */
    int function_id;               /* enum QMPI_Functions_enum */
    const void *data;              /* internal; not NULL in the node of a PMPI layer */
};

/* The stack, as the inline functions below read it. */
struct QMPIX_Stack {
    int layers;    /* tool_ids are 1 … layers */
    int functions; /* function numbers are 0 … functions - 1 */
    const QMPI_Context *const
        *below;           /* [tool_id][number]: next node below; row NULL: not built yet */
    void *const *storage; /* [tool_id] */
};
QMPI_API extern struct QMPIX_Stack QMPIX_stack;

/* ---- Registering a tool ---------------------------------------------------------------------- */

/*
 * Registers a tool. Usually called from a constructor of the tool's library.
 *
 *   tool_name  1 to 255 characters without `/`; copied
 *   init       called once for each layer of the tool, with the tool_id of the layer
 *
 * `init` runs in the thread that makes the first MPI call, before this call is carried out; lower
 * layers are initialized first. MPI calls that `init` makes go to the layers below. If an exception
 * leaves `init`, it is caught, and the layer cannot be used.
 *
 * MPI_ERR_ARG: an argument is NULL or invalid, or the name is taken. MPI_ERR_OTHER: the stack has
 * been built already, or the tool is one of MPICH's variant that is not in the stack. QMPI draft,
 * "Tool registration".
 */
QMPI_API int QMPI_Register_tool_name(const char *tool_name, void (*init)(int tool_id));

/*
 * Registers the data of a layer, which QMPI_Context_get_storage returns. `storage` remains owned by
 * the tool and may be NULL. MPI_ERR_OTHER: not called from `init` for the layer that is being
 * initialized. QMPI draft, "Tool registration".
 */
QMPI_API int QMPI_Register_tool_storage(int tool_id, void *storage);

/*
 * Registers an interceptor of a layer for one function.
 *
 *   fn  the function; one that this MPI lacks is accepted, but never called
 *   fp  the interceptor: for MPI_X, a function of the type QMPI_X_t, cast to void (*)(void)
 *
 * A second call for the same function replaces the interceptor.
 *
 * Usually called from `init` of the layer. It may also be called later, by any thread, but not in a
 * signal handler. The interceptor then gets all MPI calls that start after
 * QMPI_Register_tool_function has returned; calls in progress may continue without it. Layers above
 * that have saved pointers to next functions are informed as if a layer had been switched: see
 * QMPIX_Register_stack_changed. libqmpi does not know to which layer a later call belongs: the
 * layer that `tool_id` names gets the interceptor, even if another tool makes the call.
 *
 * MPI_ERR_OTHER: the call is made in another layer's `init` or before the stack has been built, the
 * layer is a PMPI tool, has registered functions of MPICH's variant or is left out of the stack,
 * memory is exhausted, or the system does not allow relocations to be changed. QMPI draft, "Tool
 * registration".
 */
QMPI_API int QMPI_Register_tool_function(int tool_id, enum QMPI_Functions_enum fn,
                                         void (*fp)(void));

/*
 * Registers an interceptor of a layer for MPI_X, as QMPI_Register_tool_function does. If the
 * interceptor has a wrong signature, the macro does not compile, and the compiler shows the type of
 * the interceptor and the required type QMPI_X_t. `X` is the name of a function of this MPI without
 * its prefix:
 *
 *     QMPIX_REGISTER(tool_id, Recv, my_Recv);
 *
 * This needs C11 or C++11.
 */
#ifdef __cplusplus
#define QMPIX_REGISTER(tool_id, X, interceptor)                                                    \
    QMPI_Register_tool_function(                                                                   \
        (tool_id), static_cast<QMPI_Functions_enum>(QMPI_##X##_number),                            \
        reinterpret_cast<void (*)(void)>(static_cast<QMPI_##X##_t *>(interceptor)))
#else
/* The initialization makes compilers show both types, but some only warn. _Generic makes each of
 * them stop. */
#define QMPIX_REGISTER(tool_id, X, interceptor)                                                    \
    ((void)sizeof((struct { QMPI_##X##_t *expected; }){(interceptor)}),                            \
     QMPI_Register_tool_function((tool_id), (enum QMPI_Functions_enum)QMPI_##X##_number,           \
                                 (void (*)(void)) _Generic((interceptor), QMPI_##X##_t *           \
                                                           : (interceptor))))
#endif

/* ---- Inside an interceptor ------------------------------------------------------------------- */

/*
 * Returns the data that a layer registered, or NULL if it registered none. `context` is the context
 * that an interceptor was called with; `tool_id` may be any layer. QMPI draft, "Context".
 */
static inline int QMPI_Context_get_storage(QMPI_Context context, int tool_id, void **storage)
{
    if (!context || !storage || tool_id < 1 || tool_id > QMPIX_stack.layers)
        return MPI_ERR_ARG;
    *storage = QMPIX_stack.storage[tool_id];
    return MPI_SUCCESS;
}

/*
 * Returns the calling address of this thread's current MPI call, the same in all layers: the return
 * address in the application, or in a tool if the tool called MPI_X. `address` points to a variable
 * of type `void*`, which is set to the calling address, or to NULL outside an MPI call. QMPI draft,
 * "Context".
 */
QMPI_API int QMPI_Context_get_calling_address(QMPI_Context context, int tool_id, void *address);

/* The language binding through which a program calls MPI. */
typedef enum QMPIX_Binding {
    QMPIX_BINDING_C = 0,       /* also C++, and languages that call C's functions */
    QMPIX_BINDING_FORTRAN = 1, /* mpif.h, or the module mpi: both call the same procedures */
    QMPIX_BINDING_F08 = 2      /* the module mpi_f08 */
} QMPIX_Binding;

/*
 * Returns the binding through which the current MPI call of this thread came. A call of a Fortran
 * program reaches interceptors as a call in C: the binding has converted its arguments, and
 * handles, statuses and constants are those of C. The result is the same in all layers. It is
 * QMPIX_BINDING_C for a call that a tool makes as MPI_X, outside an MPI call, and if the binding is
 * not a shared library, as in a statically linked program. It may also be QMPIX_BINDING_C for
 * functions that return no error code (MPI_Wtime, MPI_Wtick, MPI_Aint_add, MPI_Aint_diff), because
 * a binding may end with a jump to them.
 *
 * MPI calls do not take longer because of this function. The answer is found on the call stack,
 * which takes microseconds in programs that use Fortran, and nanoseconds in others.
 */
QMPI_API int QMPIX_Context_get_binding(QMPI_Context context, QMPIX_Binding *binding);

/*
 * Returns the next interceptor of function `fn` below layer `tool_id`, and the context to call it
 * with. If no layer below intercepts the function, this is the function of the MPI library. The
 * layer itself need not intercept the function. Both results stay valid for the whole run and may
 * be cached. MPI_ERR_ARG also: this MPI lacks the function, or the layer is above the one that is
 * being initialized. QMPI draft, "Calling the next tool".
 */
static inline int QMPI_Get_function(int tool_id, enum QMPI_Functions_enum fn, void (**fp)(void),
                                    QMPI_Context *next)
{
    QMPI_Context node;
    if ((unsigned)tool_id - 1U >= (unsigned)QMPIX_stack.layers ||
        (unsigned)fn >= (unsigned)QMPIX_stack.functions || !fp || !next)
        return MPI_ERR_ARG;
    if (!QMPIX_stack.below[tool_id])
        return MPI_ERR_ARG; /* the layer is above the one that is being initialized */
    node = __atomic_load_n(&QMPIX_stack.below[tool_id][fn], __ATOMIC_ACQUIRE);
    if (!node)
        return MPI_ERR_ARG;
    *fp = node->function;
    *next = node;
    return MPI_SUCCESS;
}

/*
 * Gives the next interceptor of function X, from the context that an interceptor was called with.
 * QMPIX_NEXT_CONTEXT gives the context to call it with:
 *
 *     return QMPIX_NEXT(c, Send)(QMPIX_NEXT_CONTEXT(c), buf, count, datatype, dest, tag, comm);
 */
#define QMPIX_NEXT(c, X) ((QMPI_##X##_t *)QMPIX_JUMP_TARGET((c)->next->function))
#define QMPIX_NEXT_CONTEXT(c) ((c)->next)

/* Returns the tool_id of the layer to which the context of an interceptor belongs. */
static inline int QMPIX_Context_get_tool_id(QMPI_Context context, int *tool_id)
{
    if (!context || !tool_id)
        return MPI_ERR_ARG;
    *tool_id = context->tool_id;
    return MPI_SUCCESS;
}

/* ---- The description of a tool, and its options ---------------------------------------------- */

/* An option of a tool. */
typedef struct QMPIX_Tool_option {
    const char *name;          /* key in `key=value`; `set.*` stands for all keys that start with
                                * `set.` (see QMPIX_Tool_get_given_option); NULL ends the array */
    const char *default_value; /* NULL: none */
    const char *help;          /* one line */
} QMPIX_Tool_option;

/* Flags of a tool. */
enum {
    /* The interceptors of the tool communicate with other ranks, or change what the program sends
     * to them, so the tool must be active on all ranks. Functions that a tool keeps
     * (QMPIX_Tool_keep_function) do not count. */
    QMPIX_TOOL_COMMUNICATES = 1 << 0
};

/*
 * The description of a tool.
 *
 * `provides` and `conflicts` are arrays of strings that end with NULL. `provides` names what layers
 * of the tool do that others should know. A tool may use names of its own; these have a meaning:
 *
 *     adds-messages             sends messages of its own where the program's are, or adds data to
 *                               those of the program
 *     replaces-buffers          passes other buffers to MPI than those of the program
 *     changes-calls             leaves out calls, repeats them, or replaces them with others
 *     changes-arguments         passes on other arguments
 *     changes-results           returns other results and outputs
 *     synchronizes-collectives  makes processes wait for each other before collectives
 *
 * Validation (`qmpi run --validate`) does not report changes that a layer declares by one of the
 * three names that begin with "changes-".
 *
 * `conflicts` contains patterns with `*`, `?` and `[...]` as in a shell; a layer of the tool cannot
 * be used together with another layer if a pattern matches the name of its tool, something that it
 * provides, or a service that it offers (<qmpi/service.h>). A tool that must be the only one to do
 * something names this in both arrays; one that can be listed only once names itself in
 * `conflicts`. See QMPIX_Tool_declare.
 *
 * The members from `flags` on are missing in tools that were compiled with earlier versions of this
 * header: read a member only if `size` includes it.
 */
typedef struct QMPIX_Tool_info {
    size_t size;                      /* sizeof(QMPIX_Tool_info) */
    const char *description;          /* one line */
    const char *version;              /* NULL: none */
    const QMPIX_Tool_option *options; /* all options of the tool; NULL: it has none */
    unsigned flags;                   /* QMPIX_TOOL_… */
    const char *const *provides;      /* NULL: nothing */
    const char *const *conflicts;     /* NULL: nothing */
} QMPIX_Tool_info;

/*
 * Describes a registered tool. Called after QMPI_Register_tool_name, usually from the same
 * constructor. Entries that list the tool may then give no options other than those in `options`; a
 * tool without a description accepts all options. `info` is not copied: it and everything that it
 * points to must exist for the whole run. MPI_ERR_ARG also: no tool of this name is registered.
 * MPI_ERR_OTHER: the stack has been built already.
 */
QMPI_API int QMPIX_Register_tool_info(const char *tool_name, const QMPIX_Tool_info *info);

/*
 * Declares flags, `provides` and `conflicts` of one layer, in addition to those that
 * QMPIX_Tool_info gives for the tool, for example because of the layer's options. Called from
 * `init`. The strings are copied; NULL stands for an empty array.
 *
 * If two layers conflict, the upper one cannot be used, unless the entry of one of them has the
 * option @force=yes: the run stops at the latest when MPI is initialized, or continues without the
 * upper layer if QMPI_ON_ERROR, on-error or @optional says so (see qmpi.conf(5)). What
 * QMPIX_Tool_info contains is checked before `init`, the rest when `init` has returned.
 *
 * MPI_ERR_ARG also: an unknown flag, or an empty string. MPI_ERR_OTHER: not called from `init` for
 * the layer that is being initialized.
 */
QMPI_API int QMPIX_Tool_declare(int tool_id, unsigned flags, const char *const *provides,
                                const char *const *conflicts);

/*
 * Returns the value of an option of a layer: the given value, otherwise the default value. The
 * string exists for the whole run. MPI_ERR_INFO_NOKEY: the option is not given and has no default.
 */
QMPI_API int QMPIX_Tool_get_option(int tool_id, const char *key, const char **value);

/*
 * Returns an option that is given in the entry that lists the layer. `index` counts these options
 * from 0 in their order. This is for options that are declared with `*`, such as `set.*`: the tool
 * does not know the rest of the key. The strings exist for the whole run. MPI_ERR_ARG also: fewer
 * options are given.
 */
QMPI_API int QMPIX_Tool_get_given_option(int tool_id, int index, const char **key,
                                         const char **value);

/*
 * Reports, from `init`, that the layer cannot be used. `message` gives the reason and is copied;
 * its last line should start with `hint: ` and say how to solve the problem. The run then stops at
 * the latest when MPI is initialized, or continues without the layer if QMPI_ON_ERROR, on-error or
 * @optional says so (see qmpi.conf(5)). MPI_ERR_OTHER: not called from `init` for the layer that is
 * being initialized.
 */
QMPI_API int QMPIX_Tool_fail(int tool_id, const char *message);

/*
 * Tells whether the run is to continue if the options of a layer ask for something that is not
 * possible. Sets `skip` to 1 if QMPI_ON_ERROR=skip is set, or if the configuration file that lists
 * the layer contains on-error = skip for it; else to 0. This is for tools that detect an error
 * after `init`.
 */
QMPI_API int QMPIX_Tool_get_skip_errors(int tool_id, int *skip);

/* ---- The layers of the stack ----------------------------------------------------------------- */

/* Returns the number of layers: their tool_ids are 1 … count. The number is 0 before the first MPI
 * call. */
QMPI_API int QMPIX_Tool_count(int *count);

/* Returns the name of a layer's tool or, before the tool is loaded, the name in the entry that
 * lists the layer. The string exists for the whole run. */
QMPI_API int QMPIX_Tool_get_name(int tool_id, const char **name);

/*
 * Returns the path of the library that contains a layer's tool; for a tool that is linked into the
 * program, the path of the program. The string exists for the whole run.
 */
QMPI_API int QMPIX_Tool_get_library(int tool_id, const char **path);

/* Returns what a layer's tool registered with QMPIX_Register_tool_info, or NULL. */
QMPI_API int QMPIX_Tool_get_info(int tool_id, const QMPIX_Tool_info **info);

/*
 * Returns a text that states the kind of a layer: "QMPI tool", "QMPI tool, observer" if the layer
 * has an observer (<qmpi/observer.h>) and no interceptors, "QMPI tool, MPICH's variant", or "PMPI
 * tool", followed, for example, by the way in which the tool calls PMPI, and by a list of its
 * private dependencies. The string exists for the whole run.
 */
QMPI_API int QMPIX_Tool_get_binding(int tool_id, const char **text);

/*
 * Returns what lists a layer, for people to read: "QMPI_TOOLS, entry 2", "-t, entry 1", "FILE, line
 * 7" with the section or the named stack of the line, or "LD_PRELOAD". The string exists for the
 * whole run.
 */
QMPI_API int QMPIX_Tool_get_source(int tool_id, const char **text);

/* Tells whether a layer intercepts `fn`: sets `flag` to 1 or 0. */
QMPI_API int QMPIX_Tool_intercepts(int tool_id, enum QMPI_Functions_enum fn, int *flag);

/*
 * Switches a layer off (`enabled` is 0) or on. A layer that is off is not called, and its functions
 * cost the same as without the layer. All layers are on at first, unless conditions of the entry
 * that lists the layer switch it off (see qmpi.conf(5)); these have no effect any more on a layer
 * for which this function was called. When the call returns, all calls that start later use the
 * changed stack; calls in progress, including those in other threads, may continue in the old one.
 * May be called by any thread after start-up, but not in `init` or in a signal handler.
 *
 * Pointers to next functions that a layer has saved stay callable and ignore the change; see
 * QMPIX_Register_stack_changed. The pointers of a PMPI layer are updated, except saved results of
 * dlsym; a message reports this case. A layer that is off does not see MPI_Finalize, unless it
 * requested this with QMPIX_Tool_keep_function, or is a PMPI tool whose entry has conditions.
 *
 * MPI_ERR_OTHER: the stack has not been built yet, the system does not allow relocations to be
 * changed, or memory is exhausted; nothing has changed. MPI_ERR_UNSUPPORTED_OPERATION: the layer is
 * a PMPI tool in the program itself, which calls it directly.
 */
QMPI_API int QMPIX_Tool_set_enabled(int tool_id, int enabled);

/*
 * Tells whether a layer is on: sets `enabled` to 1 or 0. In `init`, this tells whether the layer
 * will be on at first.
 */
QMPI_API int QMPIX_Tool_get_enabled(int tool_id, int *enabled);

/*
 * Tells whether a layer is on for a function: it is on, and the option `@functions` of the entry
 * that lists it does not exclude the function. Sets `enabled` to 1 or 0, whether or not the layer
 * intercepts the function.
 */
QMPI_API int QMPIX_Tool_get_function_enabled(int tool_id, enum QMPI_Functions_enum fn,
                                             int *enabled);

/*
 * Requests that an intercepted function `fn` is also passed to the layer while it is switched off,
 * or if the option `@functions` excludes it. The interceptor then calls
 * QMPIX_Tool_get_function_enabled to decide what to do. This is for functions that all ranks must
 * handle if one does, because a layer may be on in only some of the ranks: for example
 * MPI_Finalize, if the tool communicates in it. It is also for calls that must not be missed, such
 * as those that free handles. MPI_ERR_OTHER: not called from `init` for the layer that is being
 * initialized.
 */
QMPI_API int QMPIX_Tool_keep_function(int tool_id, enum QMPI_Functions_enum fn);

struct sigaction;

/*
 * Examines or changes the action of a signal, like sigaction of <signal.h>, for tools that report
 * when a signal terminates the process.
 *
 *   number       the signal
 *   action       the new action; NULL: no change
 *   old          set to the current action, even if another tool set it; NULL: not needed
 *   tool_action  not 0: hide the new action from the program; 0: `action` is one that an earlier
 *                call returned in `old`, and is restored
 *
 * The program does not see a hidden handler: its sigaction, signal and similar functions return the
 * previous action. If the program sets this action again, the handler of the tool is restored. Any
 * other action that the program sets replaces the handler.
 *
 * With `tool_action` 0, QMPIX_Tool_sigaction may be called in a signal handler. MPI_ERR_ARG: the
 * system's sigaction fails. MPI_ERR_NO_MEM: memory is exhausted.
 */
QMPI_API int QMPIX_Tool_sigaction(int number, const struct sigaction *action, struct sigaction *old,
                                  int tool_action);

/*
 * Writes text or other bytes to stderr or stdout, as qmpi does with its own messages.
 *
 *   descriptor  2 (stderr) or 1 (stdout) at the time when the process started
 *   bytes       what is written, in one piece if the system allows it
 *   length      how many bytes
 *
 * Returns how many bytes have been written. These are fewer than `length`, for example, if the
 * descriptor was closed when the process started, if nobody reads any more, or if a non-blocking
 * descriptor takes nothing for 10 seconds. A file of the program that has got the descriptor since
 * the process started is never written to; stderr remains reachable then. The program is never
 * terminated by SIGPIPE or SIGXFSZ. The buffer of the program's stream `stdout` is not flushed
 * first.
 *
 * QMPIX_Standard_write may be called by any thread at any time, also in signal handlers.
 */
QMPI_API size_t QMPIX_Standard_write(int descriptor, const void *bytes, size_t length);

/*
 * Registers a callback that is called whenever any layer is switched off or on, or gets an
 * interceptor after its `init`. It gets the tool_id given here, and runs in the thread that makes
 * the change, before QMPIX_Tool_set_enabled or QMPI_Register_tool_function returns. From then on,
 * QMPI_Get_function returns the new next functions of the layer. Callbacks of layers that are off
 * are called, too. Two threads that make changes may call it at the same time. The callback may
 * make any call, and may switch layers.
 *
 * QMPIX_Register_stack_changed may be called by any thread, from `init` on; a second call replaces
 * the callback.
 */
QMPI_API int QMPIX_Register_stack_changed(int tool_id, void (*callback)(int tool_id));

/*
 * Returns the ranks in MPI_COMM_WORLD that have this layer, in ascending order, this process
 * included. Processes of a job may have different stacks: another program of the job may be started
 * with other tools or without libqmpi, and a tool may be left out on one node. A layer of another
 * process is the same if it uses the same tool with the same options, and if the layers that both
 * processes have are in the same order. Layers that are switched off count.
 *
 * `ranks` has `count` elements and exists for the whole run. May be called by any thread. If the
 * program uses only sessions, ranks are those in mpi://WORLD. MPI_ERR_OTHER: the ranks are not
 * known yet, because below the layers, neither MPI_Init nor MPI_Init_thread has returned, nor an
 * MPI_Comm_create_from_group that created a communicator of all processes.
 */
QMPI_API int QMPIX_Tool_get_ranks(int tool_id, const int **ranks, int *count);

/*
 * Creates a communicator of the processes that have this layer, in the order of their ranks in
 * MPI_COMM_WORLD, for the layer's own communication. On MPI_COMM_WORLD, the layer would wait for
 * processes that do not have it. Collective over these processes, which QMPIX_Tool_get_ranks lists;
 * all of them must have initialized MPI, and none may have finalized it. The communicator has no
 * attributes of the program, no layer sees its creation, and its error handler is
 * MPI_ERRORS_RETURN. The tool frees it. MPI_ERR_RANK: one of these processes is known to have
 * terminated, and no process gets a communicator; libqmpi prints a message. MPI_ERR_OTHER: MPI is
 * not initialized, has been finalized, or cannot create the communicator.
 */
QMPI_API int QMPIX_Tool_create_comm(int tool_id, MPI_Comm *comm);

/*
 * Registers a function that is called once in MPI_Finalize, when the program makes no more MPI
 * calls but MPI still works: after the delete callbacks of the attributes of MPI_COMM_SELF, in
 * which a program may make its last calls (MPI 4.0, section 11.2.4). A tool that communicates to
 * report all calls does this here, and not in its interceptor of MPI_Finalize.
 *
 * The functions of all layers, also of those that are switched off, are called in the order of the
 * stack, within MPI_Finalize and by the thread that carries it out. `ticks` is the same for all:
 * the time (see QMPIX_Clock_get_time) at which the first of them was called. They may make PMPI
 * calls. If the program has initialized MPI before it loaded libqmpi, or if a session is open, they
 * are called before the delete callbacks. The functions are not called if MPI_Finalize does not
 * reach the MPI library, because a lower layer does not pass it on; a session does not call them
 * either, because it has no MPI_COMM_SELF.
 *
 * QMPIX_Register_finalizer is called in `init`; a second call replaces the function. MPI_ERR_OTHER:
 * not called from `init` for the layer that is being initialized.
 */
QMPI_API int QMPIX_Register_finalizer(int tool_id, void (*finalizer)(int tool_id, uint64_t ticks));

/*
 * Lists the tools that have been registered so far, in the order of registration, whether or not
 * they are in the stack. Indices are 0 … count - 1. `info` is set to NULL for a tool without a
 * description. The strings exist for the whole run.
 */
QMPI_API int QMPIX_Announced_count(int *count);
QMPI_API int QMPIX_Announced_get(int index, const char **name, const QMPIX_Tool_info **info);

/* ---- Function names -------------------------------------------------------------------------- */

/* Returns the name of a function: "MPI_Send" for MPI_SEND_T. NULL: no such number. The string is
 * constant. */
QMPI_API const char *QMPIX_Function_name(enum QMPI_Functions_enum fn);

/* Returns the number of a function: MPI_SEND_T for "MPI_Send". MPI_ERR_ARG: no such function. */
QMPI_API int QMPIX_Function_id(const char *name, enum QMPI_Functions_enum *fn);

/* Tells whether the MPI that this library was built for has a function: sets `flag` to 1 or 0. */
QMPI_API int QMPIX_Function_exists(enum QMPI_Functions_enum fn, int *flag);

/* ---- MPI_Pcontrol ---------------------------------------------------------------------------- */

/*
 * Passes on the variadic arguments of MPI_Pcontrol, whose number and types are unknown. An
 * interceptor passes on the first 16 integers or pointers, and the first 8 doubles, which the
 * calling convention passes in separate registers:
 *
 *     QMPIX_PCONTROL_READER static int my_Pcontrol(QMPI_Context c, const int level, ...)
 *     {
 *         QMPIX_Pcontrol_words words;
 *         QMPIX_PCONTROL_READ(words, level);
 *         return QMPIX_NEXT(c, Pcontrol)(QMPIX_NEXT_CONTEXT(c), level, QMPIX_PCONTROL_PASS(words));
 *     }
 *
 * Only words that the application passed are meaningful; `level` must tell which these are. Tools
 * that were compiled with a header before 0.2.0 pass on 8 integers, and lack the member `more`.
 */
typedef struct QMPIX_Pcontrol_words {
    long word[8];
    double real[8];
    long more[8]; /* the integers after those in `word` */
} QMPIX_Pcontrol_words;

#define QMPIX_PCONTROL_READ(words, last)                                                           \
    do {                                                                                           \
        va_list qmpix_list;                                                                        \
        int qmpix_i;                                                                               \
        va_start(qmpix_list, last);                                                                \
        for (qmpix_i = 0; qmpix_i < 8; qmpix_i++)                                                  \
            (words).word[qmpix_i] = va_arg(qmpix_list, long);                                      \
        for (qmpix_i = 0; qmpix_i < 8; qmpix_i++)                                                  \
            (words).more[qmpix_i] = va_arg(qmpix_list, long);                                      \
        for (qmpix_i = 0; qmpix_i < 8; qmpix_i++)                                                  \
            (words).real[qmpix_i] = va_arg(qmpix_list, double);                                    \
        va_end(qmpix_list);                                                                        \
    } while (0)

#define QMPIX_PCONTROL_PASS(words)                                                                 \
    (words).word[0], (words).word[1], (words).word[2], (words).word[3], (words).word[4],           \
        (words).word[5], (words).word[6], (words).word[7], (words).more[0], (words).more[1],       \
        (words).more[2], (words).more[3], (words).more[4], (words).more[5], (words).more[6],       \
        (words).more[7], (words).real[0], (words).real[1], (words).real[2], (words).real[3],       \
        (words).real[4], (words).real[5], (words).real[6], (words).real[7]

/* AddressSanitizer would report that more words are read than were passed, which is intended. */
#if defined(__GNUC__)
#define QMPIX_PCONTROL_READER __attribute__((no_sanitize_address))
#else
#define QMPIX_PCONTROL_READER
#endif

/* ---- Versions -------------------------------------------------------------------------------- */

/*
 * The version of this header. A tool that is to be compiled with several versions of qmpi compares
 * it, as below, with the version that added what the tool uses. docs/compatibility.md lists what
 * may change between versions.
 *
 *     #if defined(QMPIX_VERSION) && QMPIX_VERSION >= QMPIX_MAKE_VERSION(0, 2, 0)
 */
#define QMPIX_VERSION_MAJOR 0
#define QMPIX_VERSION_MINOR 2
#define QMPIX_VERSION_PATCH 0
#define QMPIX_MAKE_VERSION(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define QMPIX_VERSION                                                                              \
    QMPIX_MAKE_VERSION(QMPIX_VERSION_MAJOR, QMPIX_VERSION_MINOR, QMPIX_VERSION_PATCH)

/*
 * Returns the version of the libqmpi that is in the process, which may be another one than that of
 * the header with which a tool was compiled. Since 0.2.0: a tool that also runs with 0.1.0 declares
 * the call as weak, and makes it only if its address is not NULL.
 */
QMPI_API int QMPIX_Get_version(int *major, int *minor, int *patch);

#ifdef __cplusplus
}
#endif
#endif
