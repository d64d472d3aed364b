/* SPDX-License-Identifier: MIT */
/*
 * See merged.h: sessions, handles and values of performance variables. A session is the MPI
 * library's; our handles store it, and nothing else is done with it: a QMPI layer that makes
 * one with PMPI_T_pvar_session_create may use it here too.
 */
#include "mpit/library.h"
#include "mpit/library_handles.h"
#include "mpit/merged.h"
#include "mpit/pvar_state.h"
#include "mpit/variable.h"

#include <stdlib.h>

/* Handles of ours in a session that ends, or that ended behind our back. */
static void close_all(MPI_T_pvar_session session)
{
    int count;
    struct qmpi_mpit_slot **slots = qmpi_mpit_slots_of_session(session, &count);
    for (int i = 0; i < count; i++) {
        qmpi_mpit_pvar_close(slots[i]);
        qmpi_mpit_pvar_leave(slots[i]);
    }
    free(slots);
    qmpi_mpit_library_handles_forget(session);
}

int qmpi_mpit_pvar_session_create(MPI_T_pvar_session *session)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    const int result = LIBRARY(pvar_session_create, PVAR_SESSION_CREATE)(session);
    if (result == MPI_SUCCESS)
        close_all(*session);
    return result;
}

int qmpi_mpit_pvar_session_free(MPI_T_pvar_session *session)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    /* Before the library gives its word for the session to another one. */
    if (session && *session != MPI_T_PVAR_SESSION_NULL)
        close_all(*session);
    return LIBRARY(pvar_session_free, PVAR_SESSION_FREE)(session);
}

int qmpi_mpit_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                                MPI_T_pvar_handle *handle, int *count)
{
    struct qmpi_mpit_place place;
    struct qmpi_mpit_slot *slot;
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (session == MPI_T_PVAR_SESSION_NULL)
        return MPI_T_ERR_INVALID_SESSION;
    if (!qmpi_mpit_find(QMPI_MPIT_PVARS, pvar_index, &place))
        return MPI_T_ERR_INVALID_INDEX;
    if (!place.item)
        return qmpi_mpit_library_handle_alloc(session, place.library, obj_handle, handle, count);
    if (!handle)
        return MPI_T_ERR_INVALID;
    int result = qmpi_mpit_open((const struct qmpi_mpit_variable *)place.item, obj_handle, &slot);
    if (result != MPI_SUCCESS)
        return result;
    const int elements = slot->count;
    result = qmpi_mpit_pvar_open(slot, session);
    if (result != MPI_SUCCESS) {
        qmpi_mpit_slot_give_back(slot);
        return result;
    }
    if (count)
        *count = elements;
    *handle = (MPI_T_pvar_handle)(void *)slot;
    return MPI_SUCCESS;
}

/* All that a handle must be; then *slot is it. */
static inline int check(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
                        struct qmpi_mpit_slot **slot)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (session == MPI_T_PVAR_SESSION_NULL)
        return MPI_T_ERR_INVALID_SESSION;
    *slot = qmpi_mpit_slot_of(handle, QMPI_MPIT_PVAR);
    return *slot && (*slot)->session == session ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

/* Not a published one: a handle of the library, or an invalid one. MPICH 4.0.2 crashes with some
 * invalid handles. */
static int check_others(MPI_T_pvar_handle handle)
{
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (handle == MPI_T_PVAR_HANDLE_NULL || handle == qmpi_mpit_all_handles)
        return MPI_T_ERR_INVALID_HANDLE;
    return MPI_SUCCESS;
}

int qmpi_mpit_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    struct qmpi_mpit_slot *slot;
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!handle)
        return MPI_T_ERR_INVALID;
    if (!qmpi_mpit_is_ours(*handle)) {
        const int result = check_others(*handle);
        return result != MPI_SUCCESS ? result : qmpi_mpit_library_handle_free(session, handle);
    }
    int result = check(session, *handle, &slot);
    if (result == MPI_SUCCESS)
        result = qmpi_mpit_pvar_close(slot);
    if (result == MPI_SUCCESS)
        *handle = MPI_T_PVAR_HANDLE_NULL;
    return result;
}

/* ---- One handle or all of a session ---------------------------------------------------------- */

typedef int one_function(const struct qmpi_mpit_slot *slot);

/* Those that cannot be are left alone, as the standard says. */
static bool concerns(one_function *one, const struct qmpi_mpit_slot *slot)
{
    if (one == qmpi_mpit_pvar_zero)
        return !slot->variable->readonly;
    return !slot->variable->continuous;
}

static int do_one(struct qmpi_mpit_slot *slot, one_function *one)
{
    struct qmpi_mpit_visit visit;
    int result = MPI_SUCCESS;
    if (qmpi_mpit_visit_begin(&visit, slot->state) && concerns(one, slot))
        result = one(slot);
    qmpi_mpit_visit_end(&visit);
    qmpi_mpit_pvar_leave(slot);
    return result;
}

static int for_all(MPI_T_pvar_session session, one_function *one,
                   qmpi_mpit_library_function *library)
{
    int count;
    int result = qmpi_mpit_library_handles_all(session, library);
    if (result == MPI_T_ERR_INVALID_SESSION || result == MPI_T_ERR_NOT_INITIALIZED)
        return result;
    struct qmpi_mpit_slot **slots = qmpi_mpit_slots_of_session(session, &count);
    if (!slots)
        return MPI_T_ERR_MEMORY;
    for (int i = 0; i < count; i++) {
        const int next = do_one(slots[i], one);
        result = result == MPI_SUCCESS ? next : result;
    }
    free(slots);
    return result;
}

static int apply(MPI_T_pvar_session session, MPI_T_pvar_handle handle, one_function *one,
                 qmpi_mpit_library_function *library)
{
    struct qmpi_mpit_slot *slot;
    if (qmpi_mpit_is_ours(handle)) {
        const int result = check(session, handle, &slot);
        return result == MPI_SUCCESS ? one(slot) : result;
    }
    if (!qmpi_mpit_is_initialised())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (session == MPI_T_PVAR_SESSION_NULL)
        return MPI_T_ERR_INVALID_SESSION;
    if (handle == MPI_T_PVAR_HANDLE_NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    return handle == qmpi_mpit_all_handles ? for_all(session, one, library)
                                           : library(session, handle);
}

int qmpi_mpit_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return apply(session, handle, qmpi_mpit_pvar_begin, LIBRARY(pvar_start, PVAR_START));
}

int qmpi_mpit_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return apply(session, handle, qmpi_mpit_pvar_end, LIBRARY(pvar_stop, PVAR_STOP));
}

int qmpi_mpit_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return apply(session, handle, qmpi_mpit_pvar_zero, LIBRARY(pvar_reset, PVAR_RESET));
}

/* ---- Values ---------------------------------------------------------------------------------- */

int qmpi_mpit_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    struct qmpi_mpit_slot *slot;
    if (!qmpi_mpit_is_ours(handle)) {
        const int result = check_others(handle);
        return result == MPI_SUCCESS ? LIBRARY(pvar_read, PVAR_READ)(session, handle, buf) : result;
    }
    const int result = check(session, handle, &slot);
    if (result != MPI_SUCCESS)
        return result;
    return buf ? qmpi_mpit_pvar_get(slot, buf) : MPI_T_ERR_INVALID;
}

int qmpi_mpit_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
    struct qmpi_mpit_slot *slot;
    if (!qmpi_mpit_is_ours(handle)) {
        const int result = check_others(handle);
        return result == MPI_SUCCESS ? LIBRARY(pvar_write, PVAR_WRITE)(session, handle, buf)
                                     : result;
    }
    const int result = check(session, handle, &slot);
    if (result != MPI_SUCCESS)
        return result;
    return buf ? qmpi_mpit_pvar_set(slot, buf) : MPI_T_ERR_INVALID;
}

int qmpi_mpit_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    struct qmpi_mpit_slot *slot;
    if (!qmpi_mpit_is_ours(handle)) {
        const int result = check_others(handle);
        return result == MPI_SUCCESS ? LIBRARY(pvar_readreset, PVAR_READRESET)(session, handle, buf)
                                     : result;
    }
    const int result = check(session, handle, &slot);
    if (result != MPI_SUCCESS)
        return result;
    return buf ? qmpi_mpit_pvar_get_zero(slot, buf) : MPI_T_ERR_INVALID;
}
