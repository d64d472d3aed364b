/* SPDX-License-Identifier: MIT */
/* See checks.h. */
#define _GNU_SOURCE
#include "validator/checks.h"

#include "util/util.h"
#include "validator/fault.h"
#include "validator/watch.h"

#include <qmpi/traits.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const struct qmpi_validate_host *host;

enum { BUCKETS = 512, HANDLE_MAX = 16 };

/* An object or a request that exists. */
struct object {
    struct object *next;
    QMPIX_Kind kind;
    unsigned char handle[HANDLE_MAX]; /* followed by zeros */
    int tool_id;
    const char *creator;            /* the name of the function that has created it */
    const QMPIX_Function *function; /* the same function; for QMPIX_Tool_create_comm, the one in
                                       whose call the layer called it, or MPI_Init */
    const void *address;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *buckets[BUCKETS];
static _Atomic int object_count; /* changed under the lock; others only ask whether it is 0 */

static struct object **find(QMPIX_Kind kind, const unsigned char *handle)
{
    uint64_t hash = (uint64_t)kind;
    for (int i = 0; i < HANDLE_MAX; i++)
        hash = (hash ^ handle[i]) * UINT64_C(1099511628211);
    struct object **place = &buckets[hash >> 32 & (BUCKETS - 1)];
    while (*place && ((*place)->kind != kind || memcmp((*place)->handle, handle, HANDLE_MAX) != 0))
        place = &(*place)->next;
    return place;
}

static void forget(QMPIX_Kind kind, const unsigned char *handle, int tool_id)
{
    pthread_mutex_lock(&lock);
    struct object **place = find(kind, handle), *object = *place;
    if (object && (!tool_id || object->tool_id == tool_id)) {
        *place = object->next;
        object_count--;
    } else {
        object = NULL;
    }
    pthread_mutex_unlock(&lock);
    free(object);
}

/* ---- Effects of functions on handles --------------------------------------------------------- */

static const char *noun_of(QMPIX_Kind kind)
{
    switch (kind) {
    case QMPIX_KIND_COMM:
        return "communicator";
    case QMPIX_KIND_DATATYPE:
        return "datatype";
    case QMPIX_KIND_ERRHANDLER:
        return "error handler";
    case QMPIX_KIND_FILE:
        return "file";
    case QMPIX_KIND_GROUP:
        return "group";
    case QMPIX_KIND_INFO:
        return "info object";
    case QMPIX_KIND_OP:
        return "operation";
    case QMPIX_KIND_REQUEST:
        return "request";
    case QMPIX_KIND_SESSION:
        return "session";
    case QMPIX_KIND_WIN:
        return "window";
    default:
        return NULL;
    }
}

/* Returns whether a handle that a function returns is a new object, which the caller must free. */
static bool is_creator(const QMPIX_Function *function, QMPIX_Kind kind)
{
    QMPIX_Traits traits = {.size = sizeof traits};
    QMPIX_Function_get_traits(function, &traits);
    return kind == QMPIX_KIND_REQUEST
               ? traits.flags & (QMPIX_TRAIT_NONBLOCKING | QMPIX_TRAIT_PERSISTENT)
               : traits.flags & QMPIX_TRAIT_CREATES;
}

/* Returns whether a handle need not be freed. */
static bool is_predefined_object(QMPIX_Kind kind, const unsigned char *handle)
{
#define IS(type, constant) (!memcmp(handle, &(type){constant}, sizeof(type)))
    switch (kind) {
    case QMPIX_KIND_COMM:
        return IS(MPI_Comm, MPI_COMM_NULL);
    case QMPIX_KIND_DATATYPE:
        return IS(MPI_Datatype, MPI_DATATYPE_NULL);
    case QMPIX_KIND_ERRHANDLER:
        return IS(MPI_Errhandler, MPI_ERRHANDLER_NULL);
    case QMPIX_KIND_FILE:
        return IS(MPI_File, MPI_FILE_NULL);
    case QMPIX_KIND_GROUP:
        return IS(MPI_Group, MPI_GROUP_NULL) || IS(MPI_Group, MPI_GROUP_EMPTY);
    case QMPIX_KIND_INFO:
        return IS(MPI_Info, MPI_INFO_NULL);
    case QMPIX_KIND_OP:
        return IS(MPI_Op, MPI_OP_NULL);
    case QMPIX_KIND_REQUEST:
        return IS(MPI_Request, MPI_REQUEST_NULL);
    case QMPIX_KIND_WIN:
        return IS(MPI_Win, MPI_WIN_NULL);
    default:
        return false;
    }
#undef IS
}

enum { ARGUMENTS_MAX = 8 };

/* The parameters of a function that are handles, and that the function may write. */
struct use {
    _Atomic bool known;
    bool creates;
    int count;
    struct {
        int index;
        bool is_new; /* an output, not an input */
        bool is_created;
    } arguments[ARGUMENTS_MAX];
};

static const struct use *use_of(const QMPIX_Function *function)
{
    static struct use uses[MPI_LAST_FUNC];
    struct use *use = &uses[function->number], found = {.known = false};
    if (use->known)
        return use;
    for (int i = 0; i < function->parameter_count && found.count < ARGUMENTS_MAX; i++) {
        const QMPIX_Parameter *parameter = &function->parameters[i];
        QMPIX_Parameter_traits traits = {.size = sizeof traits};
        if (parameter->indirection != 1 || parameter->is_const || !noun_of(parameter->kind) ||
            parameter->size > HANDLE_MAX ||
            QMPIX_Function_get_parameter_traits(function, i, &traits) != MPI_SUCCESS)
            continue;
        /* Handles that are no outputs are inputs that the function may change, such as the
         * requests of MPI_Waitall. */
        const bool is_new = traits.direction == QMPIX_DIRECTION_OUT;
        const bool is_created = is_new && is_creator(function, parameter->kind);
        found.arguments[found.count].index = i;
        found.arguments[found.count].is_new = is_new;
        found.arguments[found.count++].is_created = is_created;
        found.creates |= is_created;
    }
    pthread_mutex_lock(&lock);
    if (!use->known) {
        found.known = false;
        *use = found;
        use->known = true;
    }
    pthread_mutex_unlock(&lock);
    return use;
}

bool validator_handles_creates(const QMPIX_Function *function)
{
    return use_of(function)->creates;
}

/* ---- Elements of arguments ------------------------------------------------------------------- */

static int element_count(const QMPIX_Call *call, int index)
{
    QMPIX_Parameter_traits traits = {.size = sizeof traits};
    int count = 1;
    QMPIX_Function_get_parameter_traits(call->function, index, &traits);
    if (traits.length == QMPIX_LENGTH_OF) {
        const QMPIX_Parameter *of = traits.of < 0 ? NULL : &call->function->parameters[traits.of];
        if (!of || of->kind != QMPIX_KIND_INT || of->indirection)
            return 0;
        memcpy(&count, call->arguments[traits.of], sizeof count);
    }
    return count > 0 ? count : 0;
}

/* Copies a handle of an argument, followed by zeros. Returns false if there is none. */
static bool read_handle(const QMPIX_Call *call, int index, int element,
                        unsigned char handle[HANDLE_MAX])
{
    memset(handle, 0, HANDLE_MAX);
    return QMPIX_Call_get_elements(call, index, element, 1, handle) == MPI_SUCCESS;
}

/* ---- Calls that free and complete ------------------------------------------------------------ */

struct stored {
    int count;
    struct {
        int index, element;
        unsigned char handle[HANDLE_MAX];
    } handles[];
};

void *validator_handles_before(const QMPIX_Call *call)
{
    const struct use *use = use_of(call->function);
    int room = 0;
    if (!object_count)
        return NULL;
    for (int i = 0; i < use->count; i++)
        room += use->arguments[i].is_new ? 0 : element_count(call, use->arguments[i].index);
    if (!room)
        return NULL;
    struct stored *stored =
        qmpi_allocate(1, sizeof *stored + (size_t)room * sizeof *stored->handles);
    for (int i = 0; i < use->count; i++) {
        const int index = use->arguments[i].index,
                  count = use->arguments[i].is_new ? 0 : element_count(call, index);
        for (int element = 0; element < count; element++) {
            if (!read_handle(call, index, element, stored->handles[stored->count].handle))
                continue;
            stored->handles[stored->count].index = index;
            stored->handles[stored->count++].element = element;
        }
    }
    return stored;
}

void validator_handles_after(const QMPIX_Call *call, void *data)
{
    struct stored *stored = data;
    for (int i = 0; stored && i < stored->count; i++) {
        unsigned char now[HANDLE_MAX];
        const int index = stored->handles[i].index;
        if (read_handle(call, index, stored->handles[i].element, now) &&
            memcmp(now, stored->handles[i].handle, HANDLE_MAX) != 0)
            forget(call->function->parameters[index].kind, stored->handles[i].handle, 0);
    }
    free(stored);
}

/* ---- Calls that create ----------------------------------------------------------------------- */

static void add(int tool_id, QMPIX_Kind kind, const unsigned char *handle, const char *creator,
                const QMPIX_Function *function, const void *address)
{
    /* The same handle may be added more than once, because MPI libraries count references. */
    struct object *object = qmpi_allocate(1, sizeof *object);
    *object = (struct object){.kind = kind,
                              .tool_id = tool_id,
                              .creator = creator,
                              .function = function,
                              .address = address};
    memcpy(object->handle, handle, HANDLE_MAX);
    pthread_mutex_lock(&lock);
    struct object **place = find(kind, handle);
    object->next = *place;
    *place = object;
    object_count++;
    pthread_mutex_unlock(&lock);
}

static bool has_created(const QMPIX_Call *call)
{
    return call->function->result != QMPIX_KIND_INT || *(const int *)call->result == MPI_SUCCESS;
}

void validator_handles_add(int tool_id, const QMPIX_Call *call, const void *address)
{
    const struct use *use = use_of(call->function);
    unsigned char handle[HANDLE_MAX];
    for (int i = 0; i < use->count && has_created(call); i++) {
        const int index = use->arguments[i].index;
        const QMPIX_Kind kind = call->function->parameters[index].kind;
        if (use->arguments[i].is_created && read_handle(call, index, 0, handle) &&
            !is_predefined_object(kind, handle))
            add(tool_id, kind, handle, call->function->name, call->function, address);
    }
}

/* Adds the communicator that libqmpi creates. No observer sees the calls by which libqmpi creates
 * it. */
static int watched_create_comm(int tool_id, MPI_Comm *comm)
{
    const int result = QMPIX_Tool_create_comm(tool_id, comm);
    const struct visit *visit = visit_current();
    const QMPIX_Function *function;
    unsigned char handle[HANDLE_MAX] = {0};
    if (result != MPI_SUCCESS || tool_id < 1 || tool_id > host->layers ||
        QMPIX_Function_describe(MPI_INIT_T, &function) != MPI_SUCCESS)
        return result;
    memcpy(handle, comm, sizeof *comm);
    add(tool_id, QMPIX_KIND_COMM, handle, "QMPIX_Tool_create_comm",
        visit && visit->tool_id == tool_id ? visit->function : function, WATCH_CALLER);
    return result;
}

void validator_handles_give(const struct visit *visit, const QMPIX_Call *call)
{
    const struct use *use = use_of(call->function);
    unsigned char handle[HANDLE_MAX];
    for (int i = 0; i < use->count && object_count; i++) {
        const int index = use->arguments[i].index, count = element_count(call, index);
        for (int element = 0; element < count; element++) {
            if (read_handle(call, index, element, handle))
                forget(call->function->parameters[index].kind, handle, visit->tool_id);
        }
    }
}

void validator_handles_start(const struct qmpi_validate_host *given)
{
    static const struct watch_entry functions[] = {
        {"QMPIX_Tool_create_comm", (watch_function *)watched_create_comm}};
    host = given;
    watch_add(functions, 1, false);
}

/* ---- The end --------------------------------------------------------------------------------- */

static void report(const struct object *object)
{
    const bool is_request = object->kind == QMPIX_KIND_REQUEST;
    char *detail = qmpi_format("%s the %s that it has created by %s",
                               is_request ? "does not complete" : "does not free",
                               noun_of(object->kind), object->creator);
    fault_report(&(struct fault){.kind = is_request ? FAULT_REQUEST_LEFT : FAULT_OBJECT_LEFT,
                                 .tool_id = object->tool_id,
                                 .function = object->function,
                                 .address = object->address,
                                 .detail = detail});
    free(detail);
}

void validator_handles_check_end(void)
{
    if (!object_count || !host->is_finalized())
        return;
    for (int i = 0; i < BUCKETS; i++) {
        pthread_mutex_lock(&lock);
        struct object *const first = buckets[i];
        buckets[i] = NULL;
        pthread_mutex_unlock(&lock);
        for (struct object *object = first, *next; object; object = next) {
            next = object->next;
            report(object);
            free(object);
        }
    }
}
