/* SPDX-License-Identifier: MIT */
/* See merge.h. */
#include "mpit/merge.h"

#include "mpit/enums.h"
#include "mpit/index.h"
#include "mpit/labels.h"
#include "mpit/lazy.h"
#include "mpit/library.h"
#include "mpit/merged.h"

#define MERGED(x, X)                                                                               \
    {                                                                                              \
        MPI_T_##X##_T, (qmpi_function *)qmpi_mpit_##x                                              \
    }

static const struct {
    int number;
    qmpi_function *function;
} merged[] = {
    MERGED(init_thread, INIT_THREAD),
    MERGED(finalize, FINALIZE),
    {MPI_FINALIZE_T, (qmpi_function *)qmpi_mpit_mpi_finalize},
    MERGED(enum_get_info, ENUM_GET_INFO),
    MERGED(enum_get_item, ENUM_GET_ITEM),
    MERGED(cvar_get_num, CVAR_GET_NUM),
    MERGED(cvar_get_info, CVAR_GET_INFO),
    MERGED(cvar_get_index, CVAR_GET_INDEX),
    MERGED(cvar_handle_alloc, CVAR_HANDLE_ALLOC),
    MERGED(cvar_handle_free, CVAR_HANDLE_FREE),
    MERGED(cvar_read, CVAR_READ),
    MERGED(cvar_write, CVAR_WRITE),
    MERGED(pvar_get_num, PVAR_GET_NUM),
    MERGED(pvar_get_info, PVAR_GET_INFO),
    MERGED(pvar_get_index, PVAR_GET_INDEX),
    MERGED(pvar_session_create, PVAR_SESSION_CREATE),
    MERGED(pvar_session_free, PVAR_SESSION_FREE),
    MERGED(pvar_handle_alloc, PVAR_HANDLE_ALLOC),
    MERGED(pvar_handle_free, PVAR_HANDLE_FREE),
    MERGED(pvar_start, PVAR_START),
    MERGED(pvar_stop, PVAR_STOP),
    MERGED(pvar_read, PVAR_READ),
    MERGED(pvar_write, PVAR_WRITE),
    MERGED(pvar_reset, PVAR_RESET),
    MERGED(pvar_readreset, PVAR_READRESET),
    MERGED(category_changed, CATEGORY_CHANGED),
    MERGED(category_get_num, CATEGORY_GET_NUM),
    MERGED(category_get_info, CATEGORY_GET_INFO),
    MERGED(category_get_index, CATEGORY_GET_INDEX),
    MERGED(category_get_cvars, CATEGORY_GET_CVARS),
    MERGED(category_get_pvars, CATEGORY_GET_PVARS),
    MERGED(category_get_categories, CATEGORY_GET_CATEGORIES),
#ifdef MPI_SESSION_NULL
    {MPI_SESSION_FINALIZE_T, (qmpi_function *)qmpi_mpit_session_finalize},
#endif
#if MPI_VERSION >= 4
    MERGED(category_get_num_events, CATEGORY_GET_NUM_EVENTS),
    MERGED(category_get_events, CATEGORY_GET_EVENTS),
    MERGED(event_get_num, EVENT_GET_NUM),
    MERGED(event_get_info, EVENT_GET_INFO),
    MERGED(event_get_index, EVENT_GET_INDEX),
    MERGED(event_handle_alloc, EVENT_HANDLE_ALLOC),
    MERGED(source_get_num, SOURCE_GET_NUM),
    MERGED(source_get_info, SOURCE_GET_INFO),
    MERGED(source_get_timestamp, SOURCE_GET_TIMESTAMP),
#endif
};

void qmpi_mpit_merge(qmpi_function **terminators, qmpi_function **pmpi)
{
    qmpi_mpit_library_start();
    for (size_t i = 0; i < sizeof merged / sizeof *merged; i++) {
        const int number = merged[i].number;
        if (!qmpi_ends[number].base)
            continue;
        terminators[number] = merged[i].function;
        if (number == MPI_T_INIT_THREAD_T || number == MPI_T_FINALIZE_T)
            pmpi[number] = merged[i].function;
    }
}

void qmpi_mpit_leave_out(int tool_id)
{
    qmpi_mpit_lazy_forget(tool_id);
    qmpi_mpit_label_forget(tool_id);
    qmpi_mpit_withdraw(tool_id);
}
