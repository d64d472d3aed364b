/* SPDX-License-Identifier: MIT */
/*
 * Functions of libqmpi for tools that are compiled for the standard ABI: see convert.h. Functions
 * that call MPI functions, or that convert only an error class, are generated
 * (generate/abi_calls.py), apart from QMPIX_abi_Enum_create.
 */
#include "abi/convert.h"
#include "observe/observe.h"
#include "util/util.h"

#include <qmpi/mpit.h>

#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* ---- Arguments and results ------------------------------------------------------------------- */

/* Reads a handle, which has the size of an integer or of a pointer. Because these sizes are
 * constant, the compiler does not call memcpy. */
static inline uintptr_t read_handle(const void *from, size_t size)
{
    unsigned small;
    uintptr_t large;
    if (size == sizeof small) {
        memcpy(&small, from, sizeof small);
        return small;
    }
    memcpy(&large, from, sizeof large);
    return large;
}

static inline bool is_handle(QMPIX_Kind kind)
{
    return kind >= QMPIX_KIND_COMM && kind <= QMPIX_KIND_WIN;
}

static QMPIX_Constants constants_of(const QMPIX_Parameter *parameter)
{
    return qmpi_record_parameter_constants(parameter);
}

static const void *convert_address(const QMPIX_Parameter *parameter, const void *address)
{
    if (parameter->kind == QMPIX_KIND_BUFFER)
        return qmpi_abi_from_buffer(address);
    if (parameter->kind == QMPIX_KIND_STATUS)
        return address == MPI_STATUS_IGNORE || address == MPI_STATUSES_IGNORE ? NULL : address;
    return constants_of(parameter) == QMPIX_CONSTANTS_WEIGHTS ? qmpi_abi_from_weights(address)
                                                              : address;
}

QMPI_API int QMPIX_abi_Call_get_argument(const QMPIX_Call *call, int index, void *value)
{
    const QMPIX_Parameter *parameter = qmpi_call_parameter(call, index);
    if (!parameter || !value)
        return qmpi_abi_from_error(MPI_ERR_ARG);
    const void *argument = call->arguments[index];
    if (!parameter->indirection && is_handle(parameter->kind)) {
        *(uintptr_t *)value =
            qmpi_abi_from_handle(parameter->kind, read_handle(argument, parameter->size));
    } else if (parameter->indirection) {
        const void *address = convert_address(parameter, *(const void *const *)argument);
        memcpy(value, &address, sizeof address);
    } else if (parameter->kind == QMPIX_KIND_FUNCTION) {
        const void *function = qmpi_abi_from_callback(*(const void *const *)argument);
        memcpy(value, &function, sizeof function);
    } else if (parameter->kind == QMPIX_KIND_INT) {
        *(int *)value =
            qmpi_abi_from_native_number(constants_of(parameter), *(const int *)argument);
    } else {
        memcpy(value, argument, parameter->size);
    }
    return MPI_SUCCESS;
}

static void convert_statuses(const char *from, int count, struct qmpi_abi_status *to)
{
    for (int i = 0; i < count; i++)
        qmpi_abi_read_status(from + (size_t)i * sizeof(MPI_Status), to + i);
}

static void convert_elements(const QMPIX_Parameter *parameter, const char *from, int count,
                             void *values)
{
    const size_t size = qmpi_call_element_size(parameter);
    const bool is_plain = parameter->indirection > 1;
    if (parameter->kind == QMPIX_KIND_STATUS && !is_plain) {
        convert_statuses(from, count, values);
    } else if (is_handle(parameter->kind) && !is_plain) {
        for (int i = 0; i < count; i++)
            ((uintptr_t *)values)[i] =
                qmpi_abi_from_handle(parameter->kind, read_handle(from + (size_t)i * size, size));
    } else {
        memmove(values, from, (size_t)count * size);
        if (parameter->kind == QMPIX_KIND_INT && size == sizeof(int) && !is_plain &&
            constants_of(parameter) != QMPIX_CONSTANTS_WEIGHTS)
            qmpi_abi_from_numbers(constants_of(parameter), count, values);
    }
}

QMPI_API int QMPIX_abi_Call_convert_elements(const QMPIX_Call *call, int index,
                                             const void *elements, int count, void *values)
{
    const QMPIX_Parameter *parameter = qmpi_call_parameter(call, index);
    if (!parameter || !elements || count < 0 || !values)
        return qmpi_abi_from_error(MPI_ERR_ARG);
    convert_elements(parameter, elements, count, values);
    return MPI_SUCCESS;
}

QMPI_API int QMPIX_abi_Call_get_elements(const QMPIX_Call *call, int index, int first, int count,
                                         void *values)
{
    const void *elements = qmpi_call_elements(call, index, first, count);
    if (!elements || !values)
        return qmpi_abi_from_error(MPI_ERR_ARG);
    const QMPIX_Parameter *parameter = qmpi_call_parameter(call, index);
    /* A shortcut: most calls that have statuses have a single one. */
    if (count == 1 && parameter->kind == QMPIX_KIND_STATUS && parameter->indirection == 1)
        qmpi_abi_read_status(elements, values);
    else
        convert_elements(parameter, elements, count, values);
    return MPI_SUCCESS;
}

QMPI_API int QMPIX_abi_Call_get_result(const QMPIX_Call *call, void *value)
{
    const int result = QMPIX_Call_get_result(call, value);
    if (result != MPI_SUCCESS)
        return qmpi_abi_from_error(result);
    const QMPIX_Kind kind = call->function->result;
    if (kind == QMPIX_KIND_INT)
        *(int *)value = qmpi_abi_from_error(*(const int *)call->result);
    else if (is_handle(kind))
        *(uintptr_t *)value =
            qmpi_abi_from_handle(kind, read_handle(call->result, qmpi_call_result_size(call)));
    return MPI_SUCCESS;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

QMPI_API int QMPIX_abi_Register_tool_observer(int tool_id, const QMPIX_Observer *observer)
{
    qmpi_abi_start();
    qmpi_abi_find_callbacks();
    return qmpi_abi_from_error(QMPIX_Register_tool_observer(tool_id, observer));
}

QMPI_API int QMPIX_abi_Call_get_comm(const QMPIX_Call *call, uintptr_t *comm)
{
    MPI_Comm native;
    const int result = comm ? QMPIX_Call_get_comm(call, &native) : MPI_ERR_ARG;
    if (result == MPI_SUCCESS)
        *comm = qmpi_abi_from_MPI_Comm(native);
    return qmpi_abi_from_error(result);
}

QMPI_API int QMPIX_abi_Call_get_root(const QMPIX_Call *call, int *root)
{
    const int result = QMPIX_Call_get_root(call, root);
    if (result == MPI_SUCCESS)
        *root = qmpi_abi_from_native_number(QMPIX_CONSTANTS_RANK, *root);
    return qmpi_abi_from_error(result);
}

static void convert_numbers(int *peer, int *world, int *tag)
{
    if (peer)
        *peer = qmpi_abi_from_native_number(QMPIX_CONSTANTS_RANK, *peer);
    if (world)
        *world = qmpi_abi_from_native_number(QMPIX_CONSTANTS_RANK, *world);
    if (tag)
        *tag = qmpi_abi_from_native_number(QMPIX_CONSTANTS_TAG, *tag);
}

QMPI_API int QMPIX_abi_Call_get_peer(const QMPIX_Call *call, int *peer, int *world, int *tag)
{
    const int result = QMPIX_Call_get_peer(call, peer, world, tag);
    if (result == MPI_SUCCESS)
        convert_numbers(peer, world, tag);
    return qmpi_abi_from_error(result);
}

struct transfer_receiver {
    void (*each)(void *data, const QMPIX_Transfer *transfer);
    void *data;
};

static void convert_transfer(void *data, const QMPIX_Transfer *transfer)
{
    const struct transfer_receiver *receiver = data;
    QMPIX_Transfer converted = *transfer;
    convert_numbers(&converted.peer, &converted.world, &converted.tag);
    receiver->each(receiver->data, &converted);
}

QMPI_API int QMPIX_abi_Call_for_each_transfer(
    const QMPIX_Call *call, void (*each)(void *data, const QMPIX_Transfer *transfer), void *data)
{
    struct transfer_receiver receiver = {each, data};
    return qmpi_abi_from_error(
        each ? QMPIX_Call_for_each_transfer(call, convert_transfer, &receiver) : MPI_ERR_ARG);
}

QMPI_API int QMPIX_abi_Call_for_each_neighbor(
    const QMPIX_Call *call, void (*each)(void *data, const QMPIX_Transfer *transfer), void *data)
{
    struct transfer_receiver receiver = {each, data};
    return qmpi_abi_from_error(
        each ? QMPIX_Call_for_each_neighbor(call, convert_transfer, &receiver) : MPI_ERR_ARG);
}

QMPI_API int QMPIX_abi_Call_get_request(const QMPIX_Call *call, int index, uintptr_t *request)
{
    MPI_Request native;
    const int result = request ? QMPIX_Call_get_request(call, index, &native) : MPI_ERR_ARG;
    if (result == MPI_SUCCESS)
        *request = qmpi_abi_from_MPI_Request(native);
    return qmpi_abi_from_error(result);
}

typedef int list_requests(const QMPIX_Call *call, int capacity, MPI_Request *requests, int *count);

/* The library's handles are listed in the tool's array, where they fit because they are not larger
 * than those of the ABI. They are then converted in place, from the last one to the first, so that
 * each is read before it is overwritten. */
static int convert_requests(list_requests *list, const QMPIX_Call *call, int capacity,
                            uintptr_t *requests, int *count)
{
    _Static_assert(sizeof(MPI_Request) <= sizeof *requests, "handles are larger than the ABI's");
    const int result = list(call, capacity, (MPI_Request *)requests, count);
    if (result != MPI_SUCCESS)
        return qmpi_abi_from_error(result);
    for (int i = *count < capacity ? *count : capacity; i-- > 0;) {
        MPI_Request request;
        memcpy(&request, (char *)requests + (size_t)i * sizeof request, sizeof request);
        requests[i] = qmpi_abi_from_MPI_Request(request);
    }
    return MPI_SUCCESS;
}

QMPI_API int QMPIX_abi_Call_get_started(const QMPIX_Call *call, int capacity, uintptr_t *requests,
                                        int *count)
{
    return convert_requests(QMPIX_Call_get_started, call, capacity, requests, count);
}

QMPI_API int QMPIX_abi_Call_get_completed(const QMPIX_Call *call, int capacity, uintptr_t *requests,
                                          int *count)
{
    return convert_requests(QMPIX_Call_get_completed, call, capacity, requests, count);
}

QMPI_API int QMPIX_abi_Comm_world_rank(uintptr_t comm, int rank, int *world)
{
    const int result = QMPIX_Comm_world_rank(
        qmpi_abi_to_MPI_Comm(comm), qmpi_abi_to_native_number(QMPIX_CONSTANTS_RANK, rank), world);
    if (result == MPI_SUCCESS)
        *world = qmpi_abi_from_native_number(QMPIX_CONSTANTS_RANK, *world);
    return qmpi_abi_from_error(result);
}

QMPI_API int QMPIX_abi_Error_class(int code, int *error_class)
{
    const int result =
        QMPIX_Error_class(qmpi_abi_to_native_number(QMPIX_CONSTANTS_ERROR, code), error_class);
    if (result == MPI_SUCCESS)
        qmpi_abi_from_numbers(QMPIX_CONSTANTS_ERROR, 1, error_class);
    return qmpi_abi_from_error(result);
}

QMPI_API int QMPIX_abi_Tool_create_comm(int tool_id, uintptr_t *comm)
{
    MPI_Comm created;
    const int result = QMPIX_Tool_create_comm(tool_id, comm ? &created : NULL);
    if (result == MPI_SUCCESS)
        *comm = qmpi_abi_from_MPI_Comm(created);
    return qmpi_abi_from_error(result);
}

QMPI_API int QMPIX_abi_Comm_get_identity(uintptr_t comm, QMPIX_Comm_identity *identity)
{
    return qmpi_abi_from_error(QMPIX_Comm_get_identity(qmpi_abi_to_MPI_Comm(comm), identity));
}

QMPI_API int QMPIX_abi_Datatype_get_signature(uintptr_t type, QMPIX_Signature *signature)
{
    return qmpi_abi_from_error(
        QMPIX_Datatype_get_signature(qmpi_abi_to_MPI_Datatype(type), signature));
}

/* ---- Variables of MPI_T ---------------------------------------------------------------------- */

/*
 * The datatype and the constants of a variable are converted when the tool publishes it. Each call
 * of a callback converts the object to which the variable is bound, and the result of the callback.
 */

/* QMPIX_Pvar and QMPIX_Cvar as tools for the standard ABI define them. */
struct abi_pvar {
    size_t size;
    const char *name, *description;
    int verbosity, var_class;
    uintptr_t datatype;
    int count;
    MPI_T_enum enumtype;
    int bind, flags;
    const char *category;
    void *address;
    QMPIX_Var_read *read;
    QMPIX_Var_write *write;
    QMPIX_Var_reset *reset;
    QMPIX_Var_open *open;
    void *user;
};

struct abi_cvar {
    size_t size;
    const char *name, *description;
    int verbosity;
    uintptr_t datatype;
    int count;
    MPI_T_enum enumtype;
    int bind, scope, flags;
    const char *category;
    void *address;
    QMPIX_Var_read *read;
    QMPIX_Var_write *write;
    QMPIX_Var_open *open;
    void *user;
};

/* The callbacks of a variable; like the variable, they exist until the process ends. */
struct variable_callbacks {
    QMPIX_Var_read *read;
    QMPIX_Var_write *write;
    QMPIX_Var_reset *reset;
    QMPIX_Var_open *open;
    void *user;
    QMPIX_Kind kind; /* of the object to which a handle is bound; QMPIX_KIND_OTHER: none, or
                        unknown */
};

static int to_native_error(int error)
{
    return qmpi_abi_to_native_number(QMPIX_CONSTANTS_ERROR, error);
}

/* Stores the ABI's handle of the object in *handle, and returns `handle`. Returns NULL if the
 * variable is bound to no object, or to one of a kind that kind_of does not know. */
static const void *convert_bound_object(const struct variable_callbacks *callbacks,
                                        const void *object, uintptr_t *handle)
{
    if (!object || callbacks->kind == QMPIX_KIND_OTHER)
        return NULL;
    *handle = 0;
    memcpy(handle, object,
           callbacks->kind == QMPIX_KIND_FILE ? sizeof(MPI_File) : sizeof(MPI_Comm));
    *handle = qmpi_abi_from_handle(callbacks->kind, *handle);
    return handle;
}

static int read_published(void *user, const void *object, void *buffer, int count)
{
    const struct variable_callbacks *callbacks = user;
    uintptr_t handle;
    return to_native_error(callbacks->read(
        callbacks->user, convert_bound_object(callbacks, object, &handle), buffer, count));
}

static int write_published(void *user, const void *object, const void *buffer, int count)
{
    const struct variable_callbacks *callbacks = user;
    uintptr_t handle;
    return to_native_error(callbacks->write(
        callbacks->user, convert_bound_object(callbacks, object, &handle), buffer, count));
}

static int reset_published(void *user, const void *object)
{
    const struct variable_callbacks *callbacks = user;
    uintptr_t handle;
    return to_native_error(
        callbacks->reset(callbacks->user, convert_bound_object(callbacks, object, &handle)));
}

static int open_published(void *user, const void *object, int *count)
{
    const struct variable_callbacks *callbacks = user;
    uintptr_t handle;
    return to_native_error(
        callbacks->open(callbacks->user, convert_bound_object(callbacks, object, &handle), count));
}

static QMPIX_Kind kind_of(int bind)
{
    static const struct {
        int bind;
        QMPIX_Kind kind;
    } kinds[] = {
        {MPI_T_BIND_MPI_COMM, QMPIX_KIND_COMM},
        {MPI_T_BIND_MPI_DATATYPE, QMPIX_KIND_DATATYPE},
        {MPI_T_BIND_MPI_ERRHANDLER, QMPIX_KIND_ERRHANDLER},
        {MPI_T_BIND_MPI_FILE, QMPIX_KIND_FILE},
        {MPI_T_BIND_MPI_GROUP, QMPIX_KIND_GROUP},
        {MPI_T_BIND_MPI_OP, QMPIX_KIND_OP},
        {MPI_T_BIND_MPI_REQUEST, QMPIX_KIND_REQUEST},
        {MPI_T_BIND_MPI_WIN, QMPIX_KIND_WIN},
        {MPI_T_BIND_MPI_MESSAGE, QMPIX_KIND_MESSAGE},
        {MPI_T_BIND_MPI_INFO, QMPIX_KIND_INFO},
#ifdef QMPI_HAS_BIND_SESSION /* since MPI 4.1 */
        {MPI_T_BIND_MPI_SESSION, QMPIX_KIND_SESSION},
#endif
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].bind == bind)
            return kinds[i].kind;
    }
    return QMPIX_KIND_OTHER;
}

/* Converts a constant. 0 is not converted: it stands for the default value in both ABIs. */
static int to_native_constant(QMPIX_Constants kind, int abi)
{
    return abi ? qmpi_abi_to_native_number(kind, abi) : 0;
}

QMPI_API int QMPIX_abi_Pvar_create(int tool_id, const struct abi_pvar *pvar, int *index)
{
    if (!pvar || pvar->size < sizeof *pvar)
        return qmpi_abi_from_error(MPI_ERR_ARG);
    qmpi_abi_start();
    struct variable_callbacks *callbacks = calloc(1, sizeof *callbacks);
    if (!callbacks)
        return qmpi_abi_from_error(MPI_ERR_NO_MEM);
    const int bind = to_native_constant(QMPIX_CONSTANTS_BINDING, pvar->bind);
    *callbacks = (struct variable_callbacks){pvar->read, pvar->write, pvar->reset,
                                             pvar->open, pvar->user,  kind_of(bind)};
    const QMPIX_Pvar native = {
        .size = sizeof native,
        .name = pvar->name,
        .description = pvar->description,
        .verbosity = to_native_constant(QMPIX_CONSTANTS_VERBOSITY, pvar->verbosity),
        .var_class = qmpi_abi_to_native_number(QMPIX_CONSTANTS_VARIABLE_CLASS, pvar->var_class),
        .datatype = qmpi_abi_to_MPI_Datatype(pvar->datatype),
        .count = pvar->count,
        .enumtype = pvar->enumtype,
        .bind = bind,
        .flags = pvar->flags,
        .category = pvar->category,
        .address = pvar->address,
        .read = pvar->read ? read_published : NULL,
        .write = pvar->write ? write_published : NULL,
        .reset = pvar->reset ? reset_published : NULL,
        .open = pvar->open ? open_published : NULL,
        .user = callbacks,
    };
    const int result = QMPIX_Pvar_create(tool_id, &native, index);
    if (result != MPI_SUCCESS)
        free(callbacks);
    return qmpi_abi_from_error(result);
}

QMPI_API int QMPIX_abi_Cvar_create(int tool_id, const struct abi_cvar *cvar, int *index)
{
    if (!cvar || cvar->size < sizeof *cvar)
        return qmpi_abi_from_error(MPI_ERR_ARG);
    qmpi_abi_start();
    struct variable_callbacks *callbacks = calloc(1, sizeof *callbacks);
    if (!callbacks)
        return qmpi_abi_from_error(MPI_ERR_NO_MEM);
    const int bind = to_native_constant(QMPIX_CONSTANTS_BINDING, cvar->bind);
    *callbacks = (struct variable_callbacks){cvar->read, cvar->write, NULL,
                                             cvar->open, cvar->user,  kind_of(bind)};
    const QMPIX_Cvar native = {
        .size = sizeof native,
        .name = cvar->name,
        .description = cvar->description,
        .verbosity = to_native_constant(QMPIX_CONSTANTS_VERBOSITY, cvar->verbosity),
        .datatype = qmpi_abi_to_MPI_Datatype(cvar->datatype),
        .count = cvar->count,
        .enumtype = cvar->enumtype,
        .bind = bind,
        .scope = qmpi_abi_to_native_number(QMPIX_CONSTANTS_SCOPE, cvar->scope),
        .flags = cvar->flags,
        .category = cvar->category,
        .address = cvar->address,
        .read = cvar->read ? read_published : NULL,
        .write = cvar->write ? write_published : NULL,
        .open = cvar->open ? open_published : NULL,
        .user = callbacks,
    };
    const int result = QMPIX_Cvar_create(tool_id, &native, index);
    if (result != MPI_SUCCESS)
        free(callbacks);
    return qmpi_abi_from_error(result);
}

/* MPI_T_enum is a pointer in all MPI libraries, so only the error class is converted. */
QMPI_API int QMPIX_abi_Enum_create(int tool_id, const QMPIX_Enum *enumeration, MPI_T_enum *enumtype)
{
    return qmpi_abi_from_error(QMPIX_Enum_create(tool_id, enumeration, enumtype));
}
