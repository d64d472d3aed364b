/* SPDX-License-Identifier: MIT */
/*
 * Looks up its next function of MPI_Comm_rank in init, and keeps the pointer. When it is notified
 * that the stack was changed, it looks the function up again. Its init makes wrong calls and calls
 * that are not allowed yet, and prints a note if one of them has an unexpected result. Options:
 *   told=no      it is not notified
 *   switches=N   it switches layer N off at each notification
 *   keeps=yes    it is called for MPI_Comm_rank even while it is off
 */
#include "trace.h"

#include <qmpi/qmpi.h>

#include <stdlib.h>
#include <string.h>

struct saved {
    void (*function)(void);
    QMPI_Context context;
    int switches;
};
static struct saved saved[256]; /* [tool_id] */

static void look_up(int tool_id)
{
    struct saved *mine = &saved[tool_id];
    if (QMPI_Get_function(tool_id, MPI_COMM_RANK_T, &mine->function, &mine->context))
        trace("keeper %d finds no function", tool_id);
}

static void told(int tool_id)
{
    trace("keeper %d is told", tool_id);
    look_up(tool_id);
    if (saved[tool_id].switches)
        QMPIX_Tool_set_enabled(saved[tool_id].switches, 0);
}

static int keeper_rank(QMPI_Context context, MPI_Comm comm, int *rank)
{
    int tool_id = 0, enabled = 0;
    QMPIX_Context_get_tool_id(context, &tool_id);
    QMPIX_Tool_get_enabled(tool_id, &enabled);
    trace("keeper %d MPI_Comm_rank%s", tool_id, enabled ? "" : " while it is off");
    return ((QMPI_Comm_rank_t *)saved[tool_id].function)(saved[tool_id].context, comm, rank);
}

static void try_in_init(int tool_id)
{
    int enabled = -1, count = 0, good = 1;
    QMPIX_Tool_count(&count);
    good &= QMPIX_Tool_get_enabled(tool_id, &enabled) == MPI_SUCCESS && enabled == 1;
    good &= QMPIX_Tool_set_enabled(tool_id, 0) == MPI_ERR_OTHER;
    good &= QMPIX_Tool_set_enabled(0, 0) == MPI_ERR_ARG;
    good &= QMPIX_Tool_set_enabled(-1, 0) == MPI_ERR_ARG;
    good &= QMPIX_Tool_set_enabled(count + 1, 0) == MPI_ERR_ARG;
    good &= QMPIX_Tool_get_enabled(count + 1, &enabled) == MPI_ERR_ARG;
    good &= QMPIX_Tool_get_enabled(tool_id, NULL) == MPI_ERR_ARG;
    good &= QMPIX_Tool_keep_function(tool_id, MPI_LAST_FUNC) == MPI_ERR_ARG;
    good &= QMPIX_Tool_keep_function(0, MPI_COMM_RANK_T) == MPI_ERR_ARG;
    good &=
        tool_id == count || QMPIX_Tool_keep_function(tool_id + 1, MPI_COMM_RANK_T) == MPI_ERR_OTHER;
    good &= QMPIX_Register_stack_changed(tool_id, NULL) == MPI_ERR_ARG;
    good &= QMPIX_Register_stack_changed(count + 1, told) == MPI_ERR_ARG;
    if (!good || enabled != 1)
        trace("keeper %d: wrong answers in init", tool_id);
}

static void init(int tool_id)
{
    const char *wanted = "", *switches = "0", *keeps = "no";
    QMPIX_Tool_get_option(tool_id, "keeps", &keeps);
    QMPIX_Tool_get_option(tool_id, "told", &wanted);
    QMPIX_Tool_get_option(tool_id, "switches", &switches);
    saved[tool_id].switches = atoi(switches);
    try_in_init(tool_id);
    look_up(tool_id);
    if (strcmp(wanted, "no") != 0)
        QMPIX_Register_stack_changed(tool_id, told);
    QMPI_Register_tool_function(tool_id, MPI_COMM_RANK_T, (void (*)(void))keeper_rank);
    if (!strcmp(keeps, "yes"))
        QMPIX_Tool_keep_function(tool_id, MPI_COMM_RANK_T);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("keeper", init);
}
