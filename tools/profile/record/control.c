/* SPDX-License-Identifier: MIT */
/* See control.h. */
#include "record/control.h"

#include "collect/gather.h"
#include "record/comms.h"
#include "record/early.h"
#include "record/files.h"
#include "record/freed_handles.h"
#include "record/regions.h"
#include "save/checkpoint.h"
#include "save/process_report.h"
#include "save/termination.h"
#include "toolkit/toolkit.h"

/* ---- Handles --------------------------------------------------------------------------------- */

static void begin_free(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word)
{
    const MPI_Comm comm = argument_comm_at(call, 0);
    if (comm == MPI_COMM_NULL)
        return;
    tool_sessions_leave(&layer->sessions, comm, call->function->number == MPI_COMM_DISCONNECT_T);
    freed_handles_add(layer, word, false, comms_begin_free(layer, comm), HANDLE_WORD(comm));
}

static void begin_close(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word)
{
    const MPI_File file = argument_file_at(call, 0);
    if (file != MPI_FILE_NULL)
        freed_handles_add(layer, word, true, files_begin_close(layer, file), HANDLE_WORD(file));
}

static void opened(struct layer *layer, const QMPIX_Call *call, bool counted, uint64_t time)
{
    enum { FILE_NAME = 1, FILE_HANDLE = 4 };
    const MPI_File file = argument_file_at(call, FILE_HANDLE);
    files_open(layer, file, argument_address(call, FILE_NAME), counted);
    struct thread *thread = threads_self(layer->tool_id, layer->options.depth);
    const uint64_t key = (uint64_t)(int64_t)files_find(&layer->files, file);
    struct numbered_row *row =
        counted && thread && (int64_t)key >= 0 ? table_get(&thread->files, &key, 1) : NULL;
    if (row)
        note_call(&row->stats, time);
}

/* ---- MPI_Pcontrol ---------------------------------------------------------------------------- */

/* After the call, so that it counts as it began: outside what it opens, inside what it closes. */
static void control(struct layer *layer, const QMPIX_Call *call)
{
    const int level = *(const int *)call->arguments[0]; /* no constant of MPI */
    const QMPIX_Pcontrol_words *words = call->arguments[1];
    char name[PCONTROL_TEXT_MAX];
    if (atomic_load(&layer->closed))
        return;
    switch (level) {
    case 0:
        regions_switch(layer, false);
        break;
    case 1:
        regions_switch(layer, true);
        if (copy_pcontrol_text(words->word[0], name))
            regions_open(layer, name);
        break;
    case -1:
        if (copy_pcontrol_text(words->word[0], name))
            regions_close(layer, name);
        break;
    case 2:
        process_snapshot(layer);
        break;
    default:
        break;
    }
}

/* ---- The begin and end of MPI ---------------------------------------------------------------- */

static void begin_mpi(struct layer *layer, MPI_Session session)
{
    ticks_refine();
    comms_begin(layer, session);
    termination_watch();
    checkpoint_start(layer);
    regions_begin(layer);
}

static bool has_world(void)
{
    int initialized = 0;
    PMPI_Initialized(&initialized);
    return initialized;
}

static void finalize(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word)
{
    early_note(layer, call);
    if (atomic_exchange(&layer->closed, true))
        return;
    checkpoint_stop(layer);
    early_publish(layer, call, word);
    regions_switch(layer, false);
    comms_end(layer, true);
    gather_world(layer);
    early_hide(layer, word);
    termination_unwatch();
}

/* With the last session MPI is gone, unless MPI_Init was called. Where there is more to come than
 * is reported with this one, it is left to a later session, to MPI_Finalize or to the exit. */
static bool finalize_session(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word)
{
    const MPI_Session session = argument_session_at(call, 0);
    MPI_Comm comm;
    bool last = false;
    if (session == MPI_SESSION_NULL)
        return false;
    const bool gathers = tool_sessions_end(&layer->sessions, session, &comm, &last);
    last = last && !has_world();
    if (gathers) {
        checkpoint_stop(layer);
        early_note(layer, call);
    }
    if (last) {
        regions_end(layer);
        comms_end(layer, false);
    }
    if (gathers) {
        early_publish(layer, call, word);
        gather_on(layer, comm);
        early_hide(layer, word);
        if (!last) {
            atomic_store(&layer->reported, false);
            checkpoint_start(layer);
        }
    }
    return gathers;
}

static void session_opened(struct layer *layer, const QMPIX_Call *call)
{
    enum { SESSION = 2 };
    const MPI_Session session = argument_session_at(call, SESSION);
    if (!tool_sessions_begin(&layer->sessions, session) || has_world())
        return;
    atomic_store(&layer->reported, false); /* there is more to come after an earlier session */
    begin_mpi(layer, session);
}

static void comm_created(struct layer *layer, const QMPIX_Call *call)
{
    enum { COMM = 4 };
    tool_sessions_add(&layer->sessions, argument_comm_at(call, COMM));
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

bool control_before(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word)
{
    switch (call->function->number) {
    case MPI_FINALIZE_T:
        finalize(layer, call, word);
        return true;
    case MPI_SESSION_FINALIZE_T:
        return finalize_session(layer, call, word);
    case MPI_ABORT_T:
        checkpoint_stop(layer);
        early_note(layer, call);
        process_leave(layer, "MPI_Abort", false);
        return true;
    case MPI_COMM_FREE_T:
    case MPI_COMM_DISCONNECT_T:
        begin_free(layer, call, word);
        break;
    case MPI_FILE_CLOSE_T:
        begin_close(layer, call, word);
        break;
    default:
        break;
    }
    return false;
}

void control_after(struct layer *layer, const QMPIX_Call *call, const QMPIX_Word *word,
                   bool counted, uint64_t time)
{
    const bool succeeded = argument_result_is_success(call);
    switch (call->function->number) {
    case MPI_COMM_FREE_T:
    case MPI_COMM_DISCONNECT_T:
    case MPI_FILE_CLOSE_T:
        freed_handles_end(layer, word, succeeded);
        break;
    case MPI_PCONTROL_T:
        control(layer, call);
        break;
    default:
        break;
    }
    if (!succeeded)
        return;
    switch (call->function->number) {
    case MPI_INIT_T:
    case MPI_INIT_THREAD_T:
        begin_mpi(layer, MPI_SESSION_NULL);
        break;
    case MPI_SESSION_INIT_T:
        session_opened(layer, call);
        break;
    case MPI_COMM_CREATE_FROM_GROUP_T:
        comm_created(layer, call);
        break;
    case MPI_COMM_SET_NAME_T:
        comms_rename(layer, argument_comm(call, 0), argument_address(call, 1));
        break;
    case MPI_FILE_OPEN_T:
        opened(layer, call, counted, time);
        break;
    default:
        break;
    }
}
