/* SPDX-License-Identifier: MIT */
/* See library_handles.h. */
#include "mpit/library_handles.h"

#include "mpit/library.h"
#include "util/util.h"

#include <stdlib.h>

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

/* Held while the library works on all of them: none is freed meanwhile. */
QMPI_LOCK(lock);

static struct entry {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
} * entries;
static size_t count, capacity;

static bool has_room(void)
{
    if (count < capacity)
        return true;
    const size_t wanted = capacity ? 2 * capacity : 64;
    struct entry *larger = realloc(entries, wanted * sizeof *entries);
    if (!larger)
        return false;
    entries = larger;
    capacity = wanted;
    return true;
}

int qmpi_mpit_library_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                                   MPI_T_pvar_handle *handle, int *elements)
{
    pthread_mutex_lock(&lock);
    int result = has_room() ? MPI_SUCCESS : MPI_T_ERR_MEMORY;
    if (result == MPI_SUCCESS)
        result = alloc_handle(session, pvar_index, obj_handle, handle, elements);
    if (result == MPI_SUCCESS)
        entries[count++] = (struct entry){session, *handle};
    pthread_mutex_unlock(&lock);
    return result;
}

int qmpi_mpit_library_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    const MPI_T_pvar_handle freed = *handle;
    pthread_mutex_lock(&lock);
    const int result = free_handle(session, handle);
    for (size_t i = 0; result == MPI_SUCCESS && i < count; i++) {
        if (entries[i].session != session || entries[i].handle != freed)
            continue;
        entries[i] = entries[--count];
        break;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

void qmpi_mpit_library_handles_forget(MPI_T_pvar_session session)
{
    size_t remaining = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        if (entries[i].session != session)
            entries[remaining++] = entries[i];
    }
    count = remaining;
    pthread_mutex_unlock(&lock);
}

/* Those that cannot be started, stopped or reset, and those that were started already, are left
 * alone, as the standard says: the library tells which. */
int qmpi_mpit_library_handles_all(MPI_T_pvar_session session, qmpi_mpit_library_function *function)
{
    int result = MPI_SUCCESS;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        if (entries[i].session != session)
            continue;
        const int next = function(session, entries[i].handle);
        if (result == MPI_SUCCESS && next != MPI_T_ERR_PVAR_NO_STARTSTOP &&
            next != MPI_T_ERR_PVAR_NO_WRITE)
            result = next;
    }
    pthread_mutex_unlock(&lock);
    return result;
}
#endif
