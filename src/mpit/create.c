/* SPDX-License-Identifier: MIT */
/*
 * QMPIX_Pvar_create, QMPIX_Cvar_create and QMPIX_Category_create: what a layer says of its variable
 * or category is checked against the standard's rules, copied, and published.
 */
#include "mpit/handle_pool.h"
#include "mpit/publish.h"
#include "mpit/variable.h"
#include "util/util.h"

#include <stdlib.h>

/* A datatype and an enumeration that go together; then their entry in the table of types. */
static const struct qmpi_mpit_type *type_for(MPI_Datatype datatype, MPI_T_enum enumtype)
{
    return enumtype == MPI_T_ENUM_NULL || datatype == MPI_INT ? qmpi_mpit_type_of(datatype) : NULL;
}

/* The value has one source; an address does not belong to an object. */
static bool has_source(const void *address, QMPIX_Var_read *read, QMPIX_Var_open *open,
                       int object_size)
{
    return !address != !read && !(address && (object_size || open));
}

/* What 0 stands for, in both sorts. */
static void set_defaults(struct qmpi_mpit_variable *variable)
{
    variable->verbosity = variable->verbosity ? variable->verbosity : MPI_T_VERBOSITY_USER_BASIC;
    variable->bind = variable->bind ? variable->bind : MPI_T_BIND_NO_OBJECT;
    variable->count = variable->count ? variable->count : 1;
    variable->object_size = qmpi_mpit_object_size(variable->bind);
}

/* What both sorts have in common, and the category. False: not as described. */
static bool fill(struct qmpi_mpit_variable *variable, const char *name, const char *category)
{
    if (!qmpi_mpit_is_name(name) || !variable->type || variable->count < 1 ||
        !qmpi_mpit_is_verbosity(variable->verbosity) || variable->object_size < 0 ||
        !has_source(variable->address, variable->read, variable->open, variable->object_size) ||
        (variable->address && (uintptr_t)variable->address % variable->type->size))
        return false;
    if (variable->item.tool_id < 1)
        return false;
    variable->item.category = qmpi_mpit_category_for(variable->item.tool_id, category);
    return variable->item.category != NULL;
}

/* Who writes or resets, where the class lets anybody. */
static bool has_inverse(const struct qmpi_mpit_variable *variable)
{
    const bool present = variable->style == QMPI_MPIT_PRESENT;
    const bool generic = variable->var_class == MPI_T_PVAR_CLASS_GENERIC;
    if (!present || variable->readonly || variable->address)
        return !variable->write && !variable->reset;
    return variable->write && (generic || !variable->reset) && !(generic && variable->atomic);
}

static void note_initial(struct qmpi_mpit_variable *variable)
{
    if (variable->var_class != MPI_T_PVAR_CLASS_GENERIC || !variable->address)
        return;
    variable->initial = qmpi_allocate((size_t)variable->count, sizeof *variable->initial);
    for (int i = 0; i < variable->count; i++)
        variable->initial[i] = qmpi_mpit_load(variable->type, variable->address, i);
}

static int publish(struct qmpi_mpit_variable *variable, const char *name, const char *description,
                   int flags, int *index)
{
    if (qmpi_mpit_publish(&variable->item, name, description, flags & QMPIX_BARE_NAME, index))
        return MPI_SUCCESS;
    free(variable->initial);
    free(variable);
    return MPI_ERR_ARG;
}

int QMPIX_Pvar_create(int tool_id, const QMPIX_Pvar *pvar, int *index)
{
    const int flags =
        QMPIX_BARE_NAME | QMPIX_PVAR_READONLY | QMPIX_PVAR_CONTINUOUS | QMPIX_PVAR_ATOMIC;
    if (!pvar || pvar->size < sizeof *pvar || pvar->flags & ~flags)
        return MPI_ERR_ARG;
    struct qmpi_mpit_variable *variable = qmpi_allocate(1, sizeof *variable);
    *variable = (struct qmpi_mpit_variable){
        .item = {.space = QMPI_MPIT_PVARS, .tool_id = tool_id},
        .verbosity = pvar->verbosity,
        .type = type_for(pvar->datatype, pvar->enumtype),
        .count = pvar->count,
        .enumtype = pvar->enumtype,
        .bind = pvar->bind,
        .address = pvar->address,
        .read = pvar->read,
        .write = pvar->write,
        .reset = pvar->reset,
        .open = pvar->open,
        .user = pvar->user,
        .var_class = pvar->var_class,
        .readonly = pvar->flags & QMPIX_PVAR_READONLY,
        .continuous = pvar->flags & QMPIX_PVAR_CONTINUOUS,
        .atomic = pvar->flags & QMPIX_PVAR_ATOMIC,
    };
    set_defaults(variable);
    if (!fill(variable, pvar->name, pvar->category) ||
        !qmpi_mpit_class_allows(variable->var_class, variable->type, &variable->style) ||
        !has_inverse(variable)) {
        free(variable);
        return MPI_ERR_ARG;
    }
    note_initial(variable);
    variable->simple = variable->address && variable->count == 1 &&
                       variable->style == QMPI_MPIT_SUM &&
                       variable->type->element == QMPI_MPIT_UINT64;
    return publish(variable, pvar->name, pvar->description, pvar->flags, index);
}

struct qmpi_mpit_variable *qmpi_mpit_new_cvar(int tool_id, const QMPIX_Cvar *cvar)
{
    struct qmpi_mpit_variable *variable = qmpi_allocate(1, sizeof *variable);
    *variable = (struct qmpi_mpit_variable){
        .item = {.space = QMPI_MPIT_CVARS, .tool_id = tool_id},
        .verbosity = cvar->verbosity,
        .type = type_for(cvar->datatype, cvar->enumtype),
        .count = cvar->count,
        .enumtype = cvar->enumtype,
        .bind = cvar->bind,
        .address = cvar->address,
        .read = cvar->read,
        .write = cvar->write,
        .open = cvar->open,
        .user = cvar->user,
        .scope = cvar->scope,
    };
    set_defaults(variable);
    return variable;
}

int QMPIX_Cvar_create(int tool_id, const QMPIX_Cvar *cvar, int *index)
{
    if (!cvar || cvar->size < sizeof *cvar || cvar->flags & ~QMPIX_BARE_NAME)
        return MPI_ERR_ARG;
    struct qmpi_mpit_variable *variable = qmpi_mpit_new_cvar(tool_id, cvar);
    const bool writable = qmpi_mpit_is_writable(variable);
    if (!fill(variable, cvar->name, cvar->category) || !qmpi_mpit_is_scope(cvar->scope) ||
        !cvar->write != (!writable || cvar->address)) {
        free(variable);
        return MPI_ERR_ARG;
    }
    return publish(variable, cvar->name, cvar->description, cvar->flags, index);
}

int QMPIX_Category_create(int tool_id, const QMPIX_Category *category, int *index)
{
    if (!category || category->size < sizeof *category || !qmpi_mpit_is_name(category->name) ||
        category->flags & ~QMPIX_BARE_NAME || tool_id < 1)
        return MPI_ERR_ARG;
    struct qmpi_mpit_category *parent = qmpi_mpit_category_for(tool_id, category->parent);
    if (!parent)
        return MPI_ERR_ARG;
    struct qmpi_mpit_category *item = qmpi_mpit_new_category(tool_id);
    item->item.category = parent;
    if (qmpi_mpit_publish(&item->item, category->name, category->description,
                          category->flags & QMPIX_BARE_NAME, index))
        return MPI_SUCCESS;
    free(item);
    return MPI_ERR_ARG;
}
