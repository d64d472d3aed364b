/* SPDX-License-Identifier: MIT */
/*
 * The variables of MPI_T that a tool publishes which is compiled for the standard ABI: their
 * datatypes and constants are converted when they are published, the results of their callbacks and
 * the objects to which they are bound with each call.
 */
#include "abi/convert.h"
#include "util/util.h"

#include <qmpi/mpit.h>

#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* QMPIX_Pvar and QMPIX_Cvar of such a tool. */
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

/* The callbacks of a variable, which exist as long as it: until the process ends. */
struct callbacks {
    QMPIX_Var_read *read;
    QMPIX_Var_write *write;
    QMPIX_Var_reset *reset;
    QMPIX_Var_open *open;
    void *user;
    QMPIX_Kind kind; /* of the object to which a handle is bound; QMPIX_KIND_OTHER: none */
};

static int to_error(int error)
{
    return qmpi_abi_to_native_number(QMPI_ABI_ERROR, error);
}

/* Sets `handle` to the ABI's, and returns its address; NULL: the variable has no object. */
static const void *convert_object(const struct callbacks *callbacks, const void *object,
                                  uintptr_t *handle)
{
    if (!object || callbacks->kind == QMPIX_KIND_OTHER)
        return NULL;
    *handle = 0;
    memcpy(handle, object,
           callbacks->kind == QMPIX_KIND_FILE ? sizeof(MPI_File) : sizeof(MPI_Comm));
    *handle = qmpi_abi_from_handle(callbacks->kind, *handle);
    return handle;
}

static int read_variable(void *user, const void *object, void *buffer, int count)
{
    const struct callbacks *callbacks = user;
    uintptr_t handle;
    return to_error(callbacks->read(callbacks->user, convert_object(callbacks, object, &handle),
                                    buffer, count));
}

static int write_variable(void *user, const void *object, const void *buffer, int count)
{
    const struct callbacks *callbacks = user;
    uintptr_t handle;
    return to_error(callbacks->write(callbacks->user, convert_object(callbacks, object, &handle),
                                     buffer, count));
}

static int reset_variable(void *user, const void *object)
{
    const struct callbacks *callbacks = user;
    uintptr_t handle;
    return to_error(callbacks->reset(callbacks->user, convert_object(callbacks, object, &handle)));
}

static int open_variable(void *user, const void *object, int *count)
{
    const struct callbacks *callbacks = user;
    uintptr_t handle;
    return to_error(
        callbacks->open(callbacks->user, convert_object(callbacks, object, &handle), count));
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
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i].bind == bind)
            return kinds[i].kind;
    }
    return QMPIX_KIND_OTHER;
}

/* 0 stands for a default value in either. */
static int constant(enum qmpi_abi_meaning meaning, int abi)
{
    return abi ? qmpi_abi_to_native_number(meaning, abi) : 0;
}

QMPI_API int QMPIX_abi_Pvar_create(int tool_id, const struct abi_pvar *pvar, int *index)
{
    if (!pvar || pvar->size < sizeof *pvar)
        return qmpi_abi_from_error(MPI_ERR_ARG);
    qmpi_abi_start();
    struct callbacks *callbacks = qmpi_allocate(1, sizeof *callbacks);
    const int bind = constant(QMPI_ABI_BINDING, pvar->bind);
    *callbacks = (struct callbacks){pvar->read, pvar->write, pvar->reset,
                                    pvar->open, pvar->user,  kind_of(bind)};
    const QMPIX_Pvar native = {
        .size = sizeof native,
        .name = pvar->name,
        .description = pvar->description,
        .verbosity = constant(QMPI_ABI_VERBOSITY, pvar->verbosity),
        .var_class = qmpi_abi_to_native_number(QMPI_ABI_VARIABLE_CLASS, pvar->var_class),
        .datatype = qmpi_abi_to_MPI_Datatype(pvar->datatype),
        .count = pvar->count,
        .enumtype = pvar->enumtype,
        .bind = bind,
        .flags = pvar->flags,
        .category = pvar->category,
        .address = pvar->address,
        .read = pvar->read ? read_variable : NULL,
        .write = pvar->write ? write_variable : NULL,
        .reset = pvar->reset ? reset_variable : NULL,
        .open = pvar->open ? open_variable : NULL,
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
    struct callbacks *callbacks = qmpi_allocate(1, sizeof *callbacks);
    const int bind = constant(QMPI_ABI_BINDING, cvar->bind);
    *callbacks =
        (struct callbacks){cvar->read, cvar->write, NULL, cvar->open, cvar->user, kind_of(bind)};
    const QMPIX_Cvar native = {
        .size = sizeof native,
        .name = cvar->name,
        .description = cvar->description,
        .verbosity = constant(QMPI_ABI_VERBOSITY, cvar->verbosity),
        .datatype = qmpi_abi_to_MPI_Datatype(cvar->datatype),
        .count = cvar->count,
        .enumtype = cvar->enumtype,
        .bind = bind,
        .scope = qmpi_abi_to_native_number(QMPI_ABI_SCOPE, cvar->scope),
        .flags = cvar->flags,
        .category = cvar->category,
        .address = cvar->address,
        .read = cvar->read ? read_variable : NULL,
        .write = cvar->write ? write_variable : NULL,
        .open = cvar->open ? open_variable : NULL,
        .user = callbacks,
    };
    const int result = QMPIX_Cvar_create(tool_id, &native, index);
    if (result != MPI_SUCCESS)
        free(callbacks);
    return qmpi_abi_from_error(result);
}

/* Handles of MPI_T are pointers in all MPI libraries. */
QMPI_API int QMPIX_abi_Enum_create(int tool_id, const QMPIX_Enum *enumeration, MPI_T_enum *enumtype)
{
    return qmpi_abi_from_error(QMPIX_Enum_create(tool_id, enumeration, enumtype));
}
