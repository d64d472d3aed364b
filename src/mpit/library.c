/* SPDX-License-Identifier: MIT */
/* See library.h. */
#define _GNU_SOURCE
#include "mpit/library.h"

#include "elf/elf.h"
#include "mpit/lazy.h"
#include "util/util.h"

#include <stdint.h>
#include <string.h>

atomic_int qmpi_mpit_users;
MPI_T_pvar_handle qmpi_mpit_all_handles;

QMPI_LOCK(lock);
static atomic_bool held;

#if defined(MPI_T_PVAR_ALL_HANDLES) || defined(QMPI_STATIC)
static MPI_T_pvar_handle find_all_handles(void)
{
    return MPI_T_PVAR_ALL_HANDLES;
}
#else
/* It is a variable of the MPI library, which libqmpi is not linked with. */
static MPI_T_pvar_handle find_all_handles(void)
{
    MPI_T_pvar_handle found = NULL;
    struct qmpi_elf_loaded library;
    const void *function = (const void *)(uintptr_t)qmpi_bases[MPI_T_PVAR_START_T];
    const void *variable = qmpi_elf_loaded_holder(function, &library)
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
    pthread_mutex_lock(&lock);
    if (!qmpi_mpit_is_held() &&
        LIBRARY(init_thread, INIT_THREAD)(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS)
        atomic_store_explicit(&held, true, memory_order_release);
    pthread_mutex_unlock(&lock);
    return qmpi_mpit_is_held();
}

#ifdef OPEN_MPI
/*
 * To begin, Open MPI 4.1.4 looks at all its components, for 0.2 s; and not even that does it
 * survive after MPI_Finalize. So a program that never uses MPI_T is not made to before it ends, and
 * who comes later is refused.
 */
static bool is_after_init(void)
{
    int finalized = 0;
    if (!qmpi_mpit_is_held())
        QMPI_PMPI(Finalized, FINALIZED)(&finalized);
    return finalized != 0;
}

static void hold_to_the_end(void)
{
}
#else
static bool is_after_init(void)
{
    return false;
}

static void hold_to_the_end(void)
{
    qmpi_mpit_hold();
}
#endif

/*
 * The application and the layers know nothing of each other, but MPICH 4.0.2 takes the level of
 * whoever came last for all of them: the library is always asked for MPI_THREAD_MULTIPLE.
 */
int qmpi_mpit_init_thread(int required, int *provided)
{
    const bool valid = required == MPI_THREAD_SINGLE || required == MPI_THREAD_FUNNELED ||
                       required == MPI_THREAD_SERIALIZED || required == MPI_THREAD_MULTIPLE;
    int level = required;
    if (is_after_init())
        return MPI_T_ERR_CANNOT_INIT;
    /* The library may reject a value that is not a level, or not: then it counts like any other. */
    const int result =
        LIBRARY(init_thread, INIT_THREAD)(valid ? MPI_THREAD_MULTIPLE : required, &level);
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
    hold_to_the_end();
    return QMPI_PMPI(Finalize, FINALIZE)();
}

#ifdef MPI_SESSION_NULL
int qmpi_mpit_session_finalize(MPI_Session *session)
{
    hold_to_the_end();
    return QMPI_PMPI(Session_finalize, SESSION_FINALIZE)(session);
}
#endif
