/* SPDX-License-Identifier: MIT */
/* See finalizers.h. */
#include "startup/finalizers.h"

#include "clock/clock.h"
#include "job/job.h"
#include "observe/observe.h"
#include "process/process.h"
#include "registry/registry.h"
#include "validate/validate.h"

#include <qmpi/qmpi.h>

#include <stdatomic.h>

static void (*finalizers[QMPI_LAYERS_MAX + 1])(int tool_id, uint64_t ticks);
static bool has_finalizers;
static bool has_attribute; /* MPI will call delete_attribute. */
/* Set by the first call of run_finalizers. No other data depends on it. */
static atomic_bool have_run;

int QMPIX_Register_finalizer(int tool_id, void (*finalizer)(int tool_id, uint64_t ticks))
{
    const int error = qmpi_layer_check_registration(__func__, tool_id, finalizer != NULL);
    if (error != MPI_SUCCESS)
        return error;
    qmpi_clock_start();
    finalizers[tool_id] = finalizer;
    has_finalizers = true;
    return MPI_SUCCESS;
}

/* Runs the finalizers of the layers from the top down, the order in which layers receive the call
 * of MPI_Finalize. */
static void run_finalizers(void)
{
    const uint64_t ticks = qmpi_clock_has_started() ? qmpi_clock_now() : 0;
    if (atomic_exchange(&have_run, true))
        return;
    for (int tool_id = 1; tool_id <= QMPIX_stack.layers; tool_id++) {
        if (finalizers[tool_id] && qmpi_layer_get(tool_id)->ready)
            qmpi_validate_finalize(tool_id, finalizers[tool_id], ticks);
    }
}

/* The communicator of the job is freed last, because layers create their communicators from it. */
static void finalize_layers(void)
{
    run_finalizers();
    qmpi_attributes_drop_self();
    qmpi_job_free_comm();
}

/* ---- The attribute --------------------------------------------------------------------------- */

static int copy_nothing(MPI_Comm comm, int key, void *state, void *value, void *copy, int *flag)
{
    (void)comm;
    (void)key;
    (void)state;
    (void)value;
    (void)copy;
    *flag = 0;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int key, void *value, void *state)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)state;
    finalize_layers();
    return MPI_SUCCESS;
}

static bool set_quietly(void)
{
    int key = MPI_KEYVAL_INVALID;
    if (QMPI_PMPI(Comm_create_keyval, COMM_CREATE_KEYVAL)(copy_nothing, delete_attribute, &key,
                                                          NULL) != MPI_SUCCESS)
        return false;
    const int result = QMPI_PMPI(Comm_set_attr, COMM_SET_ATTR)(MPI_COMM_SELF, key, NULL);
    QMPI_PMPI(Comm_free_keyval, COMM_FREE_KEYVAL)(&key);
    return result == MPI_SUCCESS;
}

static int set_attribute(int result)
{
    struct qmpi_quiet_errors world, self;
    if (result != MPI_SUCCESS || !has_finalizers)
        return result;
    qmpi_quiet_errors_begin(&world, MPI_COMM_WORLD);
    qmpi_quiet_errors_begin(&self, MPI_COMM_SELF);
    has_attribute = set_quietly();
    qmpi_quiet_errors_end(&self);
    qmpi_quiet_errors_end(&world);
    if (has_attribute) {
        qmpi_job_keep_comm();
        qmpi_attributes_keep_self();
    }
    return result;
}

/* ---- Terminators ----------------------------------------------------------------------------- */

static qmpi_function *next_init, *next_init_thread, *next_finalize;

static int init_with_attribute(int *argc, char ***argv)
{
    return set_attribute(((__typeof__(&MPI_Init))next_init)(argc, argv));
}

static int init_thread_with_attribute(int *argc, char ***argv, int required, int *provided)
{
    return set_attribute(
        ((__typeof__(&MPI_Init_thread))next_init_thread)(argc, argv, required, provided));
}

/* ---- Sessions -------------------------------------------------------------------------------- */

/* The number of open sessions. Any thread may open and close sessions. */
static atomic_int open_sessions;

#ifdef MPI_SESSION_NULL
static qmpi_function *next_session_init, *next_session_finalize;

static int init_counted_session(MPI_Info info, MPI_Errhandler handler, MPI_Session *session)
{
    const int result = ((__typeof__(&MPI_Session_init))next_session_init)(info, handler, session);
    if (result == MPI_SUCCESS)
        atomic_fetch_add(&open_sessions, 1);
    return result;
}

static int finalize_counted_session(MPI_Session *session)
{
    const int result = ((__typeof__(&MPI_Session_finalize))next_session_finalize)(session);
    if (result == MPI_SUCCESS)
        atomic_fetch_sub(&open_sessions, 1);
    return result;
}

static void watch_sessions(qmpi_function **targets)
{
    next_session_init = targets[MPI_SESSION_INIT_T];
    next_session_finalize = targets[MPI_SESSION_FINALIZE_T];
    targets[MPI_SESSION_INIT_T] = (qmpi_function *)init_counted_session;
    targets[MPI_SESSION_FINALIZE_T] = (qmpi_function *)finalize_counted_session;
}
#endif

/* ---- MPI_Finalize ---------------------------------------------------------------------------- */

/* Usually, the layers are finalized in the callback of the attribute, during the call below.
 * Without an attribute, for example in a program that initialized MPI without libqmpi, the layers
 * cannot wait for the callbacks of the program, and are finalized here. The same applies while a
 * session is open: MPICH then deletes the attributes at the end of the last session, when
 * MPI_COMM_WORLD can no longer be used. */
static int finalize_with_attribute(void)
{
    if (!has_attribute)
        run_finalizers();
    else if (atomic_load(&open_sessions) > 0)
        finalize_layers();
    return ((__typeof__(&MPI_Finalize))next_finalize)();
}

void qmpi_finalizers_watch(qmpi_function **targets)
{
    next_init = targets[MPI_INIT_T];
    next_init_thread = targets[MPI_INIT_THREAD_T];
    next_finalize = targets[MPI_FINALIZE_T];
    targets[MPI_INIT_T] = (qmpi_function *)init_with_attribute;
    targets[MPI_INIT_THREAD_T] = (qmpi_function *)init_thread_with_attribute;
    targets[MPI_FINALIZE_T] = (qmpi_function *)finalize_with_attribute;
#ifdef MPI_SESSION_NULL
    watch_sessions(targets);
#endif
}
