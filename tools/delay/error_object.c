/* SPDX-License-Identifier: MIT */
/* See error_object.h. Origins are stored in a tree. Entries are never removed, but overwritten when
 * MPI reuses a handle. */
#define _GNU_SOURCE
#include "tools/delay/error_object.h"

#include <qmpi/traits.h>

#include <pthread.h>
#include <search.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- Functions ------------------------------------------------------------------------------- */

/* The role of a function, and the indices of its parameters that matter for errors. An index is -1
 * if the function has no such parameter. */
static struct meaning {
    QMPIX_Role role;
    int object; /* the error object */
    int origin; /* a request or message whose origin is the error object */
    int opened; /* points to the window, file or session that the function opens */
    int made;   /* points to the request or message that the function makes */
} meanings[MPI_LAST_FUNC];

static const struct meaning *meaning_of(const QMPIX_Function *function)
{
    return &meanings[function->number];
}

/* Returns whether the function frees the object to whose handle it gets a pointer. */
static bool frees_object(const QMPIX_Function *function)
{
    const QMPIX_Role role = meaning_of(function)->role;
    return role == QMPIX_ROLE_COMM_FREE || role == QMPIX_ROLE_WIN_FREE ||
           role == QMPIX_ROLE_FILE_CLOSE || role == QMPIX_ROLE_SESSION_FINALIZE;
}

/* Returns whether a function makes an error handler for files, and the handler's callback must be
 * stored. Open MPI's MPI_File_call_errhandler refuses MPI_FILE_NULL, so this tool calls the
 * callback itself. */
static bool makes_handler(const QMPIX_Function *function)
{
    return error_object_as_open_mpi && function->number == MPI_FILE_CREATE_ERRHANDLER_T;
}

static bool is_opened_kind(QMPIX_Kind kind)
{
    return kind == QMPIX_KIND_WIN || kind == QMPIX_KIND_FILE || kind == QMPIX_KIND_SESSION;
}

/* Returns whether an argument is a request or message whose origin may be the error object. For an
 * array of requests, MPICH ignores the origins, and Open MPI uses the origin of the first request
 * that failed (fault.c). */
static bool is_origin(const QMPIX_Parameter *parameter)
{
    return (parameter->kind == QMPIX_KIND_REQUEST || parameter->kind == QMPIX_KIND_MESSAGE) &&
           parameter->indirection <= 1 && (error_object_as_open_mpi || !parameter->is_array);
}

static bool is_made(const QMPIX_Function *function, int i)
{
    const QMPIX_Parameter *parameter = &function->parameters[i];
    QMPIX_Parameter_traits traits = {.size = sizeof traits};
    QMPIX_Function_get_parameter_traits(function, i, &traits);
    return (parameter->kind == QMPIX_KIND_REQUEST || parameter->kind == QMPIX_KIND_MESSAGE) &&
           parameter->indirection == 1 && !parameter->is_array &&
           traits.direction == QMPIX_DIRECTION_OUT;
}

static void find_parameters(const QMPIX_Function *function)
{
    struct meaning *meaning = &meanings[function->number];
    QMPIX_Traits traits = {.size = sizeof traits};
    QMPIX_Function_get_traits(function, &traits);
    *meaning = (struct meaning){traits.role, -1, -1, -1, -1};
    const bool frees = frees_object(function);
    for (int i = function->parameter_count - 1; i >= 0; i--) {
        const QMPIX_Parameter *parameter = &function->parameters[i];
        if ((is_opened_kind(parameter->kind) || parameter->kind == QMPIX_KIND_COMM) &&
            parameter->indirection == frees)
            meaning->object = i;
        if (is_origin(parameter))
            meaning->origin = i;
        if (is_opened_kind(parameter->kind) && parameter->indirection == 1 && !frees)
            meaning->opened = i;
        if (meaning->made < 0 && is_made(function, i))
            meaning->made = i;
    }
}

#if !defined(OPEN_MPI) && !defined(MPICH_VERSION)
bool error_object_as_open_mpi;

/* PMPI_Get_library_version may be called before MPI_Init. */
static void detect_library(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    if (PMPI_Get_library_version(version, &length) == MPI_SUCCESS)
        error_object_as_open_mpi = !strncmp(version, "Open MPI", strlen("Open MPI"));
}
#else
static void detect_library(void)
{
}
#endif

void error_object_start(void)
{
    detect_library();
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const QMPIX_Function *function;
        if (QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function) == MPI_SUCCESS)
            find_parameters(function);
    }
}

bool error_object_opens(const QMPIX_Function *function)
{
    return frees_object(function) || meaning_of(function)->opened >= 0;
}

bool error_object_sets_origin(const QMPIX_Function *function)
{
    return frees_object(function) || makes_handler(function) || meaning_of(function)->made >= 0;
}

/* Returns whether errors of the function are raised on another object than that of its arguments.
 * If so, stores that other object. */
static bool is_special(const QMPIX_Function *function, struct error_object *error_object)
{
    const struct error_object process = {.kind = ERROR_OBJECT_PROCESS};
    const struct error_object none = {.kind = ERROR_OBJECT_NONE};
    const struct error_object no_file = {.kind = ERROR_OBJECT_FILE, .file = MPI_FILE_NULL};
    switch (meaning_of(function)->role) {
    case QMPIX_ROLE_FILE_OPEN:
        *error_object = no_file;
        return true;
    case QMPIX_ROLE_MATCHED_RECEIVE: /* MPICH does not ask the message for its communicator. */
        *error_object = process;
        return !error_object_as_open_mpi;
    case QMPIX_ROLE_START: /* In Open MPI, the object of a request matters only in functions that
                              complete it. */
    case QMPIX_ROLE_CANCEL:
    case QMPIX_ROLE_REQUEST_FREE:
    case QMPIX_ROLE_REQUEST_STATUS:
        *error_object = process;
        return error_object_as_open_mpi;
    case QMPIX_ROLE_SESSION_INIT: /* There may be no object yet. */
        *error_object = none;
        return true;
    default:
        break;
    }
    switch ((int)function->number) {
    case MPI_FILE_DELETE_T:
    case MPI_REGISTER_DATAREP_T:
    case MPI_REGISTER_DATAREP_C_T:
        *error_object = no_file;
        return true;
    case MPI_GREQUEST_COMPLETE_T:
        *error_object = process;
        return error_object_as_open_mpi;
    default:
        return false;
    }
}

bool error_object_needs_origin(const QMPIX_Function *function)
{
    struct error_object error_object;
    if (is_special(function, &error_object))
        return error_object_as_open_mpi && error_object.kind == ERROR_OBJECT_FILE;
    return meaning_of(function)->object < 0 && meaning_of(function)->origin >= 0;
}

/* ---- Arguments ------------------------------------------------------------------------------- */

/* Returns the address of argument `i`, or of what it points to. Returns NULL if the program passed
 * a null pointer. */
static const void *argument_at(const QMPIX_Call *call, int i)
{
    const void *value = call->arguments[i];
    return call->function->parameters[i].indirection ? *(const void *const *)value : value;
}

static uint64_t handle_at(const QMPIX_Parameter *parameter, const void *value)
{
    uint64_t handle = 0;
    memcpy(&handle, value, parameter->size < sizeof handle ? parameter->size : sizeof handle);
    return handle;
}

/* Returns the object whose handle is at `value`, or ERROR_OBJECT_NONE for another kind of handle.
 * MPI_FILE_NULL is an object, because its errors go to the handler that new files get. For other
 * null handles, the result is ERROR_OBJECT_PROCESS. */
static struct error_object error_object_at(const QMPIX_Parameter *parameter, const void *value)
{
    struct error_object object = {.kind = ERROR_OBJECT_NONE, .handle = handle_at(parameter, value)};
    switch (parameter->kind) {
    case QMPIX_KIND_COMM:
        object.kind = object.comm == MPI_COMM_NULL ? ERROR_OBJECT_PROCESS : ERROR_OBJECT_COMM;
        break;
    case QMPIX_KIND_WIN:
        object.kind = object.win == MPI_WIN_NULL ? ERROR_OBJECT_PROCESS : ERROR_OBJECT_WIN;
        break;
    case QMPIX_KIND_FILE:
        object.kind = ERROR_OBJECT_FILE;
        break;
#ifdef MPI_SESSION_NULL
    case QMPIX_KIND_SESSION:
        object.kind =
            object.session == MPI_SESSION_NULL ? ERROR_OBJECT_PROCESS : ERROR_OBJECT_SESSION;
        break;
#endif
    default:
        break;
    }
    return object;
}

/* ---- Origins of requests and messages -------------------------------------------------------- */

/* The origin of a request or message. Open windows, files and sessions are stored here, too, as
 * their own origins, and error handlers for files with their callbacks. */
struct origin {
    QMPIX_Kind kind;
    uint64_t handle;
    struct error_object error_object;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree;

static int compare_origins(const void *a, const void *b)
{
    const struct origin *left = a, *right = b;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return (left->handle > right->handle) - (left->handle < right->handle);
}

static void set_origin(const QMPIX_Parameter *parameter, const void *value,
                       struct error_object error_object)
{
    const struct origin origin = {parameter->kind, handle_at(parameter, value), error_object};
    pthread_mutex_lock(&lock);
    struct origin *const *place = tfind(&origin, &tree, compare_origins);
    if (place) {
        (*place)->error_object = error_object;
    } else {
        struct origin *mine = malloc(sizeof *mine);
        if (mine)
            *mine = origin;
        if (mine && !tsearch(mine, &tree, compare_origins))
            free(mine);
    }
    pthread_mutex_unlock(&lock);
}

static struct error_object find_origin(QMPIX_Kind kind, uint64_t handle)
{
    const struct origin origin = {.kind = kind, .handle = handle};
    pthread_mutex_lock(&lock);
    struct origin *const *place = tfind(&origin, &tree, compare_origins);
    const struct error_object error_object =
        place ? (*place)->error_object : (struct error_object){.kind = ERROR_OBJECT_PROCESS};
    pthread_mutex_unlock(&lock);
    return error_object;
}

static void set_opened(const QMPIX_Call *call, int place)
{
    const QMPIX_Parameter *parameter = &call->function->parameters[place];
    const void *value = argument_at(call, place);
    if (value)
        set_origin(parameter, value, error_object_at(parameter, value));
}

static bool is_same(const struct error_object *a, const struct error_object *b)
{
    return a->kind == b->kind && a->handle == b->handle;
}

/* The object that is freed. It is a variable, because twalk has no parameter for it, and twalk_r
 * exists only since glibc 2.30. */
static const struct error_object *freed_object;

static void forget_object(const void *node, VISIT visit, int depth)
{
    struct origin *origin = *(struct origin *const *)node;
    (void)depth;
    if ((visit == postorder || visit == leaf) && is_same(&origin->error_object, freed_object))
        origin->error_object = (struct error_object){.kind = ERROR_OBJECT_PROCESS};
}

/* Returns the origin of the request or message of a call, or ERROR_OBJECT_PROCESS if the call has
 * none or an array of requests. */
static struct error_object find_call_origin(const QMPIX_Call *call)
{
    const int place = meaning_of(call->function)->origin;
    const QMPIX_Parameter *parameter = &call->function->parameters[place < 0 ? 0 : place];
    const void *value = place < 0 ? NULL : argument_at(call, place);
    if (!value || parameter->is_array)
        return (struct error_object){.kind = ERROR_OBJECT_PROCESS};
    return find_origin(parameter->kind, handle_at(parameter, value));
}

struct error_object error_object_of_request(MPI_Request request)
{
    uint64_t handle = 0;
    memcpy(&handle, &request, sizeof request);
    return find_origin(QMPIX_KIND_REQUEST, handle);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

struct error_object error_object_of(const QMPIX_Call *call)
{
    const QMPIX_Function *function = call->function;
    struct error_object error_object = {.kind = ERROR_OBJECT_PROCESS};
    if (function->group == QMPIX_GROUP_TOOL_INFORMATION)
        return (struct error_object){.kind = ERROR_OBJECT_NONE};
    if (is_special(function, &error_object))
        return error_object;
    const int object = meaning_of(function)->object;
    if (object < 0)
        return find_call_origin(call);
    const void *value = argument_at(call, object);
    return value ? error_object_at(&function->parameters[object], value) : error_object;
}

/* The origin of the request or message that is an argument of the call, as it was before the call.
 * MPI_Imrecv passes the origin of its message on to its request, but the message is no longer valid
 * when the request exists. */
static _Thread_local struct error_object matched;

void error_object_begin(const QMPIX_Call *call)
{
    if (!frees_object(call->function)) {
        matched = find_call_origin(call);
        return;
    }
    struct error_object gone = error_object_of(call);
    pthread_mutex_lock(&lock);
    freed_object = &gone;
    twalk(tree, forget_object);
    pthread_mutex_unlock(&lock);
}

static void set_file_handler(const QMPIX_Call *call)
{
    struct error_object error_object = {.kind = ERROR_OBJECT_NONE};
    memcpy(&error_object.function, call->arguments[0], sizeof error_object.function);
    set_origin(&call->function->parameters[1], argument_at(call, 1), error_object);
}

void error_object_end(const QMPIX_Call *call)
{
    const struct meaning *meaning = meaning_of(call->function);
    if (*(const int *)call->result != MPI_SUCCESS) {
        if (frees_object(call->function)) /* The object still exists. */
            set_opened(call, meaning->object);
        return;
    }
    if (meaning->opened >= 0)
        set_opened(call, meaning->opened);
    if (makes_handler(call->function))
        set_file_handler(call);
    const void *value = meaning->made < 0 ? NULL : argument_at(call, meaning->made);
    if (value)
        set_origin(&call->function->parameters[meaning->made], value,
                   meaning->object < 0 ? matched : error_object_of(call));
}

/* ---- Error handlers -------------------------------------------------------------------------- */

/* Errors of calls without an object are raised on MPI_COMM_WORLD before MPI 4.0, and on
 * MPI_COMM_SELF since then. Some libraries do not follow the version of MPI that they state, so
 * error_object_learn_handlers finds out by an error. */
static bool takes_world = MPI_VERSION < 4;

/* In MPICH 5, functions return MPI_SUCCESS when an error handler of the program has returned. In
 * other libraries, they return the error. */
static bool handled_is_success;

/* There are two handlers, because one handler could not rely on the handle that it receives: Open
 * MPI 6.0.0rc2 passes an internal handle in its library for the standard ABI. */
static void handle_world_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    takes_world = true;
}

static void handle_self_error(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    takes_world = false;
}

static bool is_predefined_handler(MPI_Errhandler errhandler)
{
#ifdef MPI_ERRORS_ABORT
    if (errhandler == MPI_ERRORS_ABORT)
        return true;
#endif
    return errhandler == MPI_ERRORS_ARE_FATAL || errhandler == MPI_ERRORS_RETURN;
}

void error_object_learn_handlers(void)
{
    /* Set by the first call. No other data depends on it, so relaxed order suffices. */
    static int learnt;
    const MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Errhandler theirs[2], mine[2];
    int size, i;
    if (__atomic_exchange_n(&learnt, 1, __ATOMIC_RELAXED) ||
        PMPI_Comm_create_errhandler(handle_world_error, &mine[0]) != MPI_SUCCESS ||
        PMPI_Comm_create_errhandler(handle_self_error, &mine[1]) != MPI_SUCCESS)
        return;
    for (i = 0; i < 2; i++) {
        PMPI_Comm_get_errhandler(comms[i], &theirs[i]);
        PMPI_Comm_set_errhandler(comms[i], mine[i]);
    }
    handled_is_success = PMPI_Type_size(MPI_DATATYPE_NULL, &size) == MPI_SUCCESS;
    for (i = 0; i < 2; i++) {
        PMPI_Comm_set_errhandler(comms[i], theirs[i]);
        PMPI_Errhandler_free(&mine[i]);
        if (!is_predefined_handler(theirs[i]))
            PMPI_Errhandler_free(&theirs[i]);
    }
}

/* Returns whether a communicator can be used. Predefined ones exist only after MPI_Init, while
 * others may come from a session. */
static bool is_comm_there(MPI_Comm comm)
{
    int initialized = 0;
    PMPI_Initialized(&initialized);
    return initialized || (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF);
}

/* A window, file or session is valid if it was opened and not freed since. The MPI library is not
 * asked, because it would call an error handler for a handle that is not valid. */
static bool is_opened(const struct error_object *object)
{
    static const QMPIX_Kind kinds[] = {
        [ERROR_OBJECT_WIN] = QMPIX_KIND_WIN,
        [ERROR_OBJECT_FILE] = QMPIX_KIND_FILE,
        [ERROR_OBJECT_SESSION] = QMPIX_KIND_SESSION,
    };
    if (object->kind == ERROR_OBJECT_FILE && object->file == MPI_FILE_NULL)
        return true; /* MPI_FILE_NULL has an error handler, but is never opened. */
    const struct error_object found = find_origin(kinds[object->kind], object->handle);
    return is_same(&found, object);
}

/* Returns whether the object exists. A call that was not carried out has not checked it, and one
 * that was carried out may have freed it. */
static bool is_valid(const struct error_object *place)
{
    int world;
    switch (place->kind) {
    case ERROR_OBJECT_COMM:
        return QMPIX_Comm_world_rank(place->comm, 0, &world) == MPI_SUCCESS;
    case ERROR_OBJECT_WIN:
    case ERROR_OBJECT_FILE:
    case ERROR_OBJECT_SESSION:
        return is_opened(place);
    default:
        return true;
    }
}

static struct error_object resolve_object(const struct error_object *error_object)
{
    struct error_object place = *error_object;
    int finalized = 0;
    PMPI_Finalized(&finalized);
    if (!finalized && !is_valid(&place))
        place.kind = ERROR_OBJECT_PROCESS;
    if (place.kind == ERROR_OBJECT_PROCESS)
        place = (struct error_object){.kind = ERROR_OBJECT_COMM,
                                      .comm = takes_world ? MPI_COMM_WORLD : MPI_COMM_SELF};
    if (finalized || (place.kind == ERROR_OBJECT_COMM && !is_comm_there(place.comm)))
        place.kind = ERROR_OBJECT_NONE;
    return place;
}

/* Returns the error handler, or MPI_ERRORS_RETURN if there is none. The caller may only compare the
 * result, whose reference is already freed. */
static MPI_Errhandler get_errhandler(const struct error_object *place)
{
    MPI_Errhandler errhandler = MPI_ERRORS_RETURN;
    if (place->kind == ERROR_OBJECT_COMM)
        PMPI_Comm_get_errhandler(place->comm, &errhandler);
    else if (place->kind == ERROR_OBJECT_WIN)
        PMPI_Win_get_errhandler(place->win, &errhandler);
    else if (place->kind == ERROR_OBJECT_FILE)
        PMPI_File_get_errhandler(place->file, &errhandler);
#ifdef MPI_SESSION_NULL
    else if (place->kind == ERROR_OBJECT_SESSION)
        PMPI_Session_get_errhandler(place->session, &errhandler);
#endif
    MPI_Errhandler reference = errhandler;
    if (!is_predefined_handler(errhandler))
        PMPI_Errhandler_free(&reference);
    return errhandler;
}

bool error_object_is_fatal(const struct error_object *error_object)
{
    const struct error_object place = resolve_object(error_object);
    const MPI_Errhandler errhandler = get_errhandler(&place);
    return is_predefined_handler(errhandler) && errhandler != MPI_ERRORS_RETURN;
}

/* Calls the handler of MPI_FILE_NULL, because Open MPI's MPI_File_call_errhandler refuses this
 * handle. A handler that was made in Fortran is not known and is therefore not called. */
static void call_handler_of_null(int code)
{
    MPI_File file = MPI_FILE_NULL;
    MPI_Errhandler errhandler = MPI_ERRORS_RETURN;
    PMPI_File_get_errhandler(file, &errhandler);
    if (errhandler == MPI_ERRORS_RETURN)
        return;
    if (is_predefined_handler(errhandler)) {
        PMPI_Abort(MPI_COMM_WORLD, code);
        return;
    }
    uint64_t handle = 0;
    memcpy(&handle, &errhandler, sizeof errhandler);
    const struct error_object origin = find_origin(QMPIX_KIND_ERRHANDLER, handle);
    PMPI_Errhandler_free(&errhandler);
    if (origin.kind == ERROR_OBJECT_NONE)
        origin.function(&file, &code);
}

static void call_file_handler(MPI_File file, int code)
{
    if (error_object_as_open_mpi && file == MPI_FILE_NULL)
        call_handler_of_null(code);
    else
        PMPI_File_call_errhandler(file, code);
}

int error_object_invoke(const struct error_object *error_object, int code)
{
    const struct error_object place = resolve_object(error_object);
    const bool is_success = handled_is_success && !is_predefined_handler(get_errhandler(&place));
    if (place.kind == ERROR_OBJECT_COMM)
        PMPI_Comm_call_errhandler(place.comm, code);
    else if (place.kind == ERROR_OBJECT_WIN)
        PMPI_Win_call_errhandler(place.win, code);
    else if (place.kind == ERROR_OBJECT_FILE)
        call_file_handler(place.file, code);
#ifdef MPI_SESSION_NULL
    else if (place.kind == ERROR_OBJECT_SESSION)
        PMPI_Session_call_errhandler(place.session, code);
#endif
    return is_success ? MPI_SUCCESS : code;
}
