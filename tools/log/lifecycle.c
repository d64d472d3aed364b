/* SPDX-License-Identifier: MIT */
/* See lifecycle.h. */
#define _GNU_SOURCE
#include "lifecycle.h"

#include "filter.h"
#include "format.h"
#include "hang.h"
#include "termination.h"

#include <string.h>

/* What is done about a function. */
enum role {
    NOTHING,
    BEGINS,
    BEGINS_SESSION,
    ENDS,
    ENDS_SESSION,
    ABORTS,
    NAMES,      /* argument 0 gets the name that argument 1 is */
    OPENS_FILE, /* argument 4 gets the name that argument 1 is */
    FREES       /* what argument 0 points to */
};

static enum role role_of(const QMPIX_Function *function)
{
    static const struct {
        const char *name;
        enum role role;
    } roles[] = {
        {"MPI_Init", BEGINS},
        {"MPI_Init_thread", BEGINS},
        {"MPI_Session_init", BEGINS_SESSION},
        {"MPI_Finalize", ENDS},
        {"MPI_Session_finalize", ENDS_SESSION},
        {"MPI_Abort", ABORTS},
        {"MPI_Comm_set_name", NAMES},
        {"MPI_Type_set_name", NAMES},
        {"MPI_Win_set_name", NAMES},
        {"MPI_File_open", OPENS_FILE},
        {"MPI_Comm_free", FREES},
        {"MPI_Comm_disconnect", FREES},
        {"MPI_Type_free", FREES},
        {"MPI_Win_free", FREES},
        {"MPI_File_close", FREES},
        {"MPI_Request_free", FREES},
    };
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (!strcmp(roles[i].name, function->name))
            return roles[i].role;
    }
    return NOTHING;
}

/* Found once for each function; 0: not yet. */
static enum role known_role(const QMPIX_Function *function)
{
    static unsigned char known[MPI_LAST_FUNC];
    unsigned char *place = &known[function->number];
    unsigned char role = __atomic_load_n(place, __ATOMIC_RELAXED);
    if (!role) {
        role = (unsigned char)(role_of(function) + 1);
        __atomic_store_n(place, role, __ATOMIC_RELAXED);
    }
    return (enum role)(role - 1);
}

bool lifecycle_concerns(const QMPIX_Function *function)
{
    return role_of(function) != NOTHING;
}

bool lifecycle_ends(const QMPIX_Function *function)
{
    const enum role role = known_role(function);
    return role == ENDS || role == ENDS_SESSION;
}

/* ---- The beginning and end of MPI ------------------------------------------------------------ */

static void set_rank(struct layer *layer, int rank)
{
    atomic_store(&layer->rank, rank);
    atomic_store(&layer->is_quiet, !choose_rank(&layer->options.ranks, rank));
}

static void begin(struct layer *layer, bool has_world)
{
    int rank = 0;
    atomic_store(&layer->ended, false);
    atomic_store(&layer->begun, true);
    termination_watch(); /* for MPI may have changed handlers */
    if (!has_world)
        return;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    set_rank(layer, rank);
    objects_meet(&layer->objects, MPI_COMM_WORLD);
    objects_meet(&layer->objects, MPI_COMM_SELF);
}

static void end(struct layer *layer)
{
    hang_stop(layer);
    atomic_store(&layer->ended, true);
    termination_unwatch();
}

static void end_session(struct layer *layer)
{
    int initialized = 0;
    PMPI_Initialized(&initialized);
    if (atomic_fetch_sub(&layer->sessions, 1) == 1 && !initialized)
        end(layer);
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static void forget(struct layer *layer, const QMPIX_Call *call)
{
    const QMPIX_Parameter *parameter = &call->function->parameters[0];
    MPI_Comm handle;
    if (QMPIX_Call_get_elements(call, 0, 0, 1, &handle) == MPI_SUCCESS)
        objects_forget(&layer->objects, parameter->kind, &handle, sizeof handle);
}

void lifecycle_before(struct layer *layer, const QMPIX_Call *call)
{
    switch (known_role(call->function)) {
    case BEGINS:
    case BEGINS_SESSION:
        termination_watch();
        hang_start(layer);
        break;
    case FREES:
        forget(layer, call);
        break;
    default:
        break;
    }
}

static void name_file(struct layer *layer, const QMPIX_Call *call)
{
    enum { NAME = 1, FILE_HANDLE = 4 };
    MPI_File file;
    if (QMPIX_Call_get_elements(call, FILE_HANDLE, 0, 1, &file) == MPI_SUCCESS)
        objects_name(&layer->objects, QMPIX_KIND_FILE, &file, sizeof file,
                     *(const char *const *)call->arguments[NAME]);
}

void lifecycle_after(struct layer *layer, const QMPIX_Call *call)
{
    const QMPIX_Parameter *parameters = call->function->parameters;
    const enum role role = known_role(call->function);
    MPI_Comm handle; /* or of another kind */
    if (role != NOTHING && *(const int *)call->result != MPI_SUCCESS)
        return;
    switch (role) {
    case BEGINS:
        begin(layer, true);
        break;
    case BEGINS_SESSION:
        atomic_fetch_add(&layer->sessions, 1);
        if (!atomic_load(&layer->begun) || atomic_load(&layer->ended))
            begin(layer, false);
        break;
    case ENDS:
        end(layer);
        break;
    case ENDS_SESSION:
        end_session(layer);
        break;
    case NAMES:
        QMPIX_Call_get_argument(call, 0, &handle);
        objects_name(&layer->objects, parameters[0].kind, &handle, sizeof handle,
                     *(const char *const *)call->arguments[1]);
        break;
    case OPENS_FILE:
        name_file(layer, call);
        break;
    default:
        break;
    }
}
