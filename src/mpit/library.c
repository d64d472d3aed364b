/* SPDX-License-Identifier: MIT */
/* See library.h. */
#define _GNU_SOURCE
#include "mpit/library.h"

#include "elf/elf.h"
#include "registry/registry.h"
#include "util/util.h"

#include <qmpi/mpit.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

atomic_int qmpi_mpit_users; /* see library.h */
MPI_T_pvar_handle qmpi_mpit_all_handles;

QMPI_LOCK(hold_lock);
/* Stored with release order under the lock, after the library was initialized for libqmpi; a thread
 * that has loaded it with acquire order may call the library. */
static atomic_bool held;

#if defined(MPI_T_PVAR_ALL_HANDLES) || defined(QMPI_STATIC)
static MPI_T_pvar_handle find_all_handles(void)
{
    return MPI_T_PVAR_ALL_HANDLES;
}
#else
/* Returns the value of the variable MPI_T_PVAR_ALL_HANDLES of the MPI library, with which libqmpi
 * is not linked. */
static MPI_T_pvar_handle find_all_handles(void)
{
    MPI_T_pvar_handle found = NULL;
    struct qmpi_elf_loaded library;
    const void *function = (const void *)(uintptr_t)qmpi_pmpi_functions[MPI_T_PVAR_START_T];
    const void *variable = qmpi_elf_loaded_containing(function, &library)
                               ? qmpi_elf_loaded_find(&library, "MPI_T_PVAR_ALL_HANDLES")
                               : NULL;
    if (variable)
        memcpy(&found, variable, sizeof found);
    return found;
}
#endif

void qmpi_mpit_library_start(void)
{
    qmpi_mpit_all_handles = find_all_handles();
}

bool qmpi_mpit_is_held(void)
{
    return atomic_load_explicit(&held, memory_order_acquire);
}

bool qmpi_mpit_hold(void)
{
    int provided;
    if (qmpi_mpit_is_held())
        return true;
    pthread_mutex_lock(&hold_lock);
    if (!qmpi_mpit_is_held() &&
        LIBRARY(init_thread, INIT_THREAD)(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS)
        atomic_store_explicit(&held, true, memory_order_release);
    pthread_mutex_unlock(&hold_lock);
    return qmpi_mpit_is_held();
}

#ifdef OPEN_MPI
/*
 * Whether it is too late to initialize MPI_T. In Open MPI 4.1.4, the initialization takes 0.2 s,
 * because all components are opened, and fails after MPI_Finalize even if MPI_T was initialized
 * before. Therefore, unlike with other libraries, MPI_Finalize does not initialize MPI_T for
 * libqmpi, and a first initialization after MPI_Finalize is refused.
 */
static bool is_too_late_to_init(void)
{
    int finalized = 0;
    if (!qmpi_mpit_is_held())
        QMPI_PMPI(Finalized, FINALIZED)(&finalized);
    return finalized != 0;
}

static void hold_before_finalize(void)
{
}
#else
static bool is_too_late_to_init(void)
{
    return false;
}

static void hold_before_finalize(void)
{
    qmpi_mpit_hold();
}
#endif

/* ---- Publishing on demand -------------------------------------------------------------------- */

/* Recursive, because a publisher may use MPI_T itself. */
QMPI_LOCK_RECURSIVE(publishers_lock);
/* [tool_id], 0: the dispatcher; NULL: it has nothing to publish, has done so, or is left out of the
 * stack. */
static void (*publishers[QMPI_LAYERS_MAX + 1])(int tool_id);
/* Stored with release order under the lock, after all publishers were called; a thread that loads
 * it with acquire order finds their variables. */
static atomic_bool has_published;

void qmpi_mpit_lazy_add(int tool_id, void (*publish)(int tool_id))
{
    pthread_mutex_lock(&publishers_lock);
    const bool deferred = atomic_load(&has_published);
    if (!deferred)
        publishers[tool_id] = publish;
    pthread_mutex_unlock(&publishers_lock);
    if (deferred)
        publish(tool_id);
}

int QMPIX_Register_publisher(int tool_id, void (*publish)(int tool_id))
{
    if (!qmpi_layer_get(tool_id) || !publish)
        return qmpi_layer_note_registration(__func__, MPI_ERR_ARG);
    qmpi_mpit_lazy_add(tool_id, publish);
    return MPI_SUCCESS;
}

void qmpi_mpit_lazy_forget(int tool_id)
{
    pthread_mutex_lock(&publishers_lock);
    publishers[tool_id] = NULL;
    pthread_mutex_unlock(&publishers_lock);
}

static void publish_layer_now(int tool_id)
{
    void (*const publish)(int) = publishers[tool_id];
    publishers[tool_id] = NULL;
    if (publish)
        publish(tool_id);
}

static void publish_all(void)
{
    publish_layer_now(0);
    for (int tool_id = QMPIX_stack.layers; tool_id >= 1; tool_id--)
        publish_layer_now(tool_id);
}

void qmpi_mpit_lazy_start(void)
{
    if (atomic_load_explicit(&has_published, memory_order_acquire))
        return;
    pthread_mutex_lock(&publishers_lock);
    publish_all();
    /* Before all layers have been initialized, further publishers may register. */
    if (qmpi_chain_is_active())
        atomic_store_explicit(&has_published, true, memory_order_release);
    pthread_mutex_unlock(&publishers_lock);
}

/* ---- Initializing and finalizing ------------------------------------------------------------- */

/*
 * For each valid level, requests MPI_THREAD_MULTIPLE from the library, because MPICH 4.0.2 applies
 * the level of the latest call to all callers, and the application and the layers do not know of
 * each other.
 */
int qmpi_mpit_init_thread(int required, int *provided)
{
    const bool valid = required == MPI_THREAD_SINGLE || required == MPI_THREAD_FUNNELED ||
                       required == MPI_THREAD_SERIALIZED || required == MPI_THREAD_MULTIPLE;
    int level = required;
    if (is_too_late_to_init())
        return MPI_T_ERR_CANNOT_INIT;
    /* The library decides whether it accepts a value that is not a level, or a missing place for
     * the provided one. */
    const int result = LIBRARY(init_thread, INIT_THREAD)(valid ? MPI_THREAD_MULTIPLE : required,
                                                         provided ? &level : NULL);
    if (result != MPI_SUCCESS)
        return result;
    qmpi_mpit_hold();
    qmpi_mpit_lazy_start();
    atomic_fetch_add(&qmpi_mpit_users, 1);
    if (provided)
        *provided = valid && level > required ? required : level;
    return MPI_SUCCESS;
}

int qmpi_mpit_finalize(void)
{
    int users = atomic_load(&qmpi_mpit_users);
    do {
        if (users <= 0)
            return MPI_T_ERR_NOT_INITIALIZED;
    } while (!atomic_compare_exchange_weak(&qmpi_mpit_users, &users, users - 1));
    return LIBRARY(finalize, FINALIZE)();
}

int qmpi_mpit_mpi_finalize(void)
{
    hold_before_finalize();
    return QMPI_PMPI(Finalize, FINALIZE)();
}

#ifdef MPI_SESSION_NULL
int qmpi_mpit_session_finalize(MPI_Session *session)
{
    hold_before_finalize();
    return QMPI_PMPI(Session_finalize, SESSION_FINALIZE)(session);
}
#endif

/* ---- Handles of performance variables -------------------------------------------------------- */

static int alloc_handle(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                        MPI_T_pvar_handle *handle, int *count)
{
    return LIBRARY(pvar_handle_alloc, PVAR_HANDLE_ALLOC)(session, pvar_index, obj_handle, handle,
                                                         count);
}

static int free_handle(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    return LIBRARY(pvar_handle_free, PVAR_HANDLE_FREE)(session, handle);
}

#if defined(OPEN_MPI) || defined(MPICH_VERSION)
int qmpi_mpit_library_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                                   MPI_T_pvar_handle *handle, int *count)
{
    return alloc_handle(session, pvar_index, obj_handle, handle, count);
}

int qmpi_mpit_library_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    return free_handle(session, handle);
}

void qmpi_mpit_library_handles_forget(MPI_T_pvar_session session)
{
    (void)session;
}

int qmpi_mpit_library_handles_all(MPI_T_pvar_session session, qmpi_mpit_library_function *function)
{
    return function(session, qmpi_mpit_all_handles);
}
#else

/* Protects the list below. It is also held while the library accesses all handles, so that none is
 * freed meanwhile. */
QMPI_LOCK(handles_lock);

static struct library_handle {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
} * handles;
static size_t handle_count, handle_room;

int qmpi_mpit_library_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                                   MPI_T_pvar_handle *handle, int *elements)
{
    pthread_mutex_lock(&handles_lock);
    int result = QMPI_MEMORY_RESERVE(handles, handle_room, handle_count + 1) ? MPI_SUCCESS
                                                                             : MPI_T_ERR_MEMORY;
    if (result == MPI_SUCCESS)
        result = alloc_handle(session, pvar_index, obj_handle, handle, elements);
    if (result == MPI_SUCCESS)
        handles[handle_count++] = (struct library_handle){session, *handle};
    pthread_mutex_unlock(&handles_lock);
    return result;
}

int qmpi_mpit_library_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    const MPI_T_pvar_handle freed = *handle;
    pthread_mutex_lock(&handles_lock);
    const int result = free_handle(session, handle);
    for (size_t i = 0; result == MPI_SUCCESS && i < handle_count; i++) {
        if (handles[i].session != session || handles[i].handle != freed)
            continue;
        handles[i] = handles[--handle_count];
        break;
    }
    pthread_mutex_unlock(&handles_lock);
    return result;
}

void qmpi_mpit_library_handles_forget(MPI_T_pvar_session session)
{
    size_t remaining = 0;
    pthread_mutex_lock(&handles_lock);
    for (size_t i = 0; i < handle_count; i++) {
        if (handles[i].session != session)
            handles[remaining++] = handles[i];
    }
    handle_count = remaining;
    pthread_mutex_unlock(&handles_lock);
}

/* The standard requires that MPI_T_PVAR_ALL_HANDLES leaves out variables that cannot be started,
 * stopped or reset. For such a variable, the library returns MPI_T_ERR_PVAR_NO_STARTSTOP or
 * MPI_T_ERR_PVAR_NO_WRITE, which is no error here. */
int qmpi_mpit_library_handles_all(MPI_T_pvar_session session, qmpi_mpit_library_function *function)
{
    int result = MPI_SUCCESS;
    pthread_mutex_lock(&handles_lock);
    for (size_t i = 0; i < handle_count; i++) {
        if (handles[i].session != session)
            continue;
        const int next = function(session, handles[i].handle);
        if (result == MPI_SUCCESS && next != MPI_T_ERR_PVAR_NO_STARTSTOP &&
            next != MPI_T_ERR_PVAR_NO_WRITE)
            result = next;
    }
    pthread_mutex_unlock(&handles_lock);
    return result;
}
#endif
