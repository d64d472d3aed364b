/* SPDX-License-Identifier: MIT */
/* See error_object.h. Requests and messages are kept in a tree, which only runs that fail calls
 * like MPI_Wait fill; an entry stays and is written over when MPI gives its handle again. */
#define _GNU_SOURCE
#include "error_object.h"

#include <pthread.h>
#include <search.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- What a call is given -------------------------------------------------------------------- */

/* Open MPI's MPI_File_call_errhandler refuses MPI_FILE_NULL, so that its handler's function is to
 * be known: error_handler.c calls it. */
static bool makes_handler(const QMPIX_Function *function)
{
    return error_object_as_open_mpi && function->number == MPI_FILE_CREATE_ERRHANDLER_T;
}

/* Calls that have a handle, or could have, and raise their errors elsewhere. */
static bool is_special(enum QMPI_Functions_enum number, struct error_object *error_object)
{
    switch ((int)number) {
    case MPI_FILE_OPEN_T:
    case MPI_FILE_DELETE_T:
    case MPI_REGISTER_DATAREP_T:
    case MPI_REGISTER_DATAREP_C_T:
        *error_object = (struct error_object){.kind = ERROR_OBJECT_FILE, .file = MPI_FILE_NULL};
        return true;
    case MPI_MRECV_T: /* MPICH does not ask the message for its communicator */
    case MPI_MRECV_C_T:
    case MPI_IMRECV_T:
    case MPI_IMRECV_C_T:
        *error_object = (struct error_object){.kind = ERROR_OBJECT_PROCESS};
        return !error_object_as_open_mpi;
    case MPI_START_T: /* in Open MPI, only what completes requests asks them */
    case MPI_STARTALL_T:
    case MPI_CANCEL_T:
    case MPI_REQUEST_FREE_T:
    case MPI_REQUEST_GET_STATUS_T:
    case MPI_GREQUEST_COMPLETE_T:
        *error_object = (struct error_object){.kind = ERROR_OBJECT_PROCESS};
        return error_object_as_open_mpi;
    case MPI_SESSION_INIT_T: /* may be called before there is anything with a handler */
        *error_object = (struct error_object){.kind = ERROR_OBJECT_NONE};
        return true;
    default:
        return false;
    }
}

/* The functions that are given a pointer to what they end. */
static bool ends(enum QMPI_Functions_enum number)
{
    switch ((int)number) {
    case MPI_COMM_FREE_T:
    case MPI_COMM_DISCONNECT_T:
    case MPI_WIN_FREE_T:
    case MPI_FILE_CLOSE_T:
    case MPI_SESSION_FINALIZE_T:
        return true;
    default:
        return false;
    }
}

/* The object at `value`; ERROR_OBJECT_NONE: it is of another kind. A null handle is not an object;
 * errors of files then go to the handler that new files get. */
static struct error_object error_object_at(QMPIX_Kind kind, const void *value)
{
    struct error_object error_object = {.kind = ERROR_OBJECT_NONE};
    if (kind == QMPIX_KIND_COMM) {
        memcpy(&error_object.comm, value, sizeof error_object.comm);
        error_object.kind =
            error_object.comm == MPI_COMM_NULL ? ERROR_OBJECT_PROCESS : ERROR_OBJECT_COMM;
    } else if (kind == QMPIX_KIND_WIN) {
        memcpy(&error_object.win, value, sizeof error_object.win);
        error_object.kind =
            error_object.win == MPI_WIN_NULL ? ERROR_OBJECT_PROCESS : ERROR_OBJECT_WIN;
    } else if (kind == QMPIX_KIND_FILE) {
        memcpy(&error_object.file, value, sizeof error_object.file);
        error_object.kind = ERROR_OBJECT_FILE;
#ifdef MPI_SESSION_NULL
    } else if (kind == QMPIX_KIND_SESSION) {
        memcpy(&error_object.session, value, sizeof error_object.session);
        error_object.kind =
            error_object.session == MPI_SESSION_NULL ? ERROR_OBJECT_PROCESS : ERROR_OBJECT_SESSION;
#endif
    }
    return error_object;
}

static bool is_object(QMPIX_Kind kind)
{
    return kind == QMPIX_KIND_COMM || kind == QMPIX_KIND_WIN || kind == QMPIX_KIND_FILE ||
           kind == QMPIX_KIND_SESSION;
}

/* The place of the parameter that is the call's object; -1: it has none. */
static int object_of(const QMPIX_Function *function)
{
    const int indirection = ends(function->number);
    for (int i = 0; i < function->parameter_count; i++) {
        const QMPIX_Parameter *parameter = &function->parameters[i];
        if (is_object(parameter->kind) && parameter->indirection == indirection)
            return i;
    }
    return -1;
}

/* One request or message, by value or pointer. Arrays of them have no one origin; MPICH does not
 * ask them at all, Open MPI the first that failed: see fault.c. */
static int noted_of(const QMPIX_Function *function)
{
    for (int i = 0; i < function->parameter_count; i++) {
        const QMPIX_Parameter *parameter = &function->parameters[i];
        if ((parameter->kind == QMPIX_KIND_REQUEST || parameter->kind == QMPIX_KIND_MESSAGE) &&
            parameter->indirection <= 1 && (error_object_as_open_mpi || !parameter->is_array))
            return i;
    }
    return -1;
}

/* Where argument i is, or what it points to; NULL: the program gave a null pointer. */
static const void *argument_at(const QMPIX_Call *call, int i)
{
    const void *value = call->arguments[i];
    return call->function->parameters[i].indirection ? *(const void *const *)value : value;
}

/* ---- What requests and messages were made of ------------------------------------------------- */

struct noted {
    QMPIX_Kind kind;
    uint64_t handle;
    struct error_object error_object;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *tree;

static int compare(const void *a, const void *b)
{
    const struct noted *left = a, *right = b;
    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    return (left->handle > right->handle) - (left->handle < right->handle);
}

static struct noted noted_at(const QMPIX_Parameter *parameter, const void *value)
{
    struct noted noted = {.kind = parameter->kind};
    memcpy(&noted.handle, value,
           parameter->size < sizeof noted.handle ? parameter->size : sizeof noted.handle);
    return noted;
}

static void note(const struct noted *noted)
{
    pthread_mutex_lock(&lock);
    struct noted *const *place = tfind(noted, &tree, compare);
    if (place) {
        (*place)->error_object = noted->error_object;
    } else {
        struct noted *mine = malloc(sizeof *mine);
        if (mine)
            *mine = *noted;
        if (mine && !tsearch(mine, &tree, compare))
            free(mine);
    }
    pthread_mutex_unlock(&lock);
}

static struct error_object find(struct noted noted)
{
    pthread_mutex_lock(&lock);
    struct noted *const *place = tfind(&noted, &tree, compare);
    const struct error_object error_object =
        place ? (*place)->error_object : (struct error_object){.kind = ERROR_OBJECT_PROCESS};
    pthread_mutex_unlock(&lock);
    return error_object;
}

static bool is_same(const struct error_object *a, const struct error_object *b)
{
    return a->kind == b->kind && ((a->kind == ERROR_OBJECT_COMM && a->comm == b->comm) ||
                                  (a->kind == ERROR_OBJECT_WIN && a->win == b->win) ||
                                  (a->kind == ERROR_OBJECT_FILE && a->file == b->file));
}

static void forget(const void *node, VISIT visit, void *gone)
{
    struct noted *noted = *(struct noted *const *)node;
    if ((visit == postorder || visit == leaf) && is_same(&noted->error_object, gone))
        noted->error_object = (struct error_object){.kind = ERROR_OBJECT_PROCESS};
}

/* What the call's request or message was made of. */
static struct error_object noted_error_object(const QMPIX_Call *call)
{
    const int place = noted_of(call->function);
    const void *value = place < 0 ? NULL : argument_at(call, place);
    if (!value || call->function->parameters[place].is_array)
        return (struct error_object){.kind = ERROR_OBJECT_PROCESS};
    return find(noted_at(&call->function->parameters[place], value));
}

/* ---- Answers --------------------------------------------------------------------------------- */

struct error_object error_object_of(const QMPIX_Call *call)
{
    const QMPIX_Function *function = call->function;
    struct error_object error_object = {.kind = ERROR_OBJECT_PROCESS};
    if (function->group == QMPIX_GROUP_TOOL_INFORMATION)
        return (struct error_object){.kind = ERROR_OBJECT_NONE};
    if (is_special(function->number, &error_object))
        return error_object;
    const int object = object_of(function);
    if (object < 0)
        return noted_error_object(call);
    const void *value = argument_at(call, object);
    return value ? error_object_at(function->parameters[object].kind, value) : error_object;
}

struct error_object error_object_of_request(MPI_Request request)
{
    struct noted noted = {.kind = QMPIX_KIND_REQUEST};
    memcpy(&noted.handle, &request, sizeof request);
    return find(noted);
}

MPI_File_errhandler_function *error_object_function(MPI_Errhandler errhandler)
{
    struct noted noted = {.kind = QMPIX_KIND_ERRHANDLER};
    memcpy(&noted.handle, &errhandler, sizeof errhandler);
    const struct error_object error_object = find(noted);
    return error_object.kind == ERROR_OBJECT_NONE ? error_object.function : NULL;
}

bool error_object_is_noted(const QMPIX_Function *function)
{
    struct error_object error_object;
    if (is_special(function->number, &error_object))
        return error_object_as_open_mpi && error_object.kind == ERROR_OBJECT_FILE;
    return object_of(function) < 0 && noted_of(function) >= 0;
}

/* Requests that are made of nothing that tells: their handle may have been another's. */
static bool makes_anew(enum QMPI_Functions_enum number)
{
    switch ((int)number) {
    case MPI_GREQUEST_START_T:
    case MPIX_GREQUEST_START_T:
    case MPIX_GREQUEST_CLASS_ALLOCATE_T:
    case MPI_IMRECV_T:
    case MPI_IMRECV_C_T:
        return true;
    default:
        return false;
    }
}

/* The request or message that the function makes. */
static int made_of(const QMPIX_Function *function)
{
    if (object_of(function) < 0 && !makes_anew(function->number))
        return -1;
    for (int i = function->parameter_count - 1; i >= 0; i--) {
        const QMPIX_Parameter *parameter = &function->parameters[i];
        if ((parameter->kind == QMPIX_KIND_REQUEST || parameter->kind == QMPIX_KIND_MESSAGE) &&
            parameter->indirection == 1 && !parameter->is_array)
            return i;
    }
    return -1;
}

bool error_object_is_made(const QMPIX_Function *function)
{
    return ends(function->number) || makes_handler(function) || made_of(function) >= 0;
}

/* MPI_Imrecv's message, which is gone when its request is there. */
static _Thread_local struct error_object matched;

void error_object_begin(const QMPIX_Call *call)
{
    if (!ends(call->function->number)) {
        matched = noted_error_object(call);
        return;
    }
    struct error_object gone = error_object_of(call);
    pthread_mutex_lock(&lock);
    twalk_r(tree, forget, &gone);
    pthread_mutex_unlock(&lock);
}

static void note_handler(const QMPIX_Call *call)
{
    struct error_object error_object = {.kind = ERROR_OBJECT_NONE};
    const void *errhandler = *(const void *const *)call->arguments[1];
    memcpy(&error_object.function, call->arguments[0], sizeof error_object.function);
    struct noted noted = noted_at(&call->function->parameters[1], errhandler);
    noted.error_object = error_object;
    note(&noted);
}

void error_object_end(const QMPIX_Call *call)
{
    if (makes_handler(call->function)) {
        if (*(const int *)call->result == MPI_SUCCESS)
            note_handler(call);
        return;
    }
    const int made = made_of(call->function);
    const void *value = made < 0 ? NULL : argument_at(call, made);
    if (!value || *(const int *)call->result != MPI_SUCCESS)
        return;
    struct noted noted = noted_at(&call->function->parameters[made], value);
    noted.error_object = object_of(call->function) < 0 ? matched : error_object_of(call);
    note(&noted);
}
