/* SPDX-License-Identifier: MIT */
/*
 * Prints `identity RANK NAME ID PARENT PROCESSES` for each communicator that the program names by
 * MPI_Comm_set_name. If the identity is unknown, ID, PARENT and PROCESSES are `-`. With quiet=yes,
 * the layer does not request identities, but prints these lines nevertheless.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <qmpi/observer.h>

#include <inttypes.h>

static const char *answer(MPI_Comm comm, char *text, size_t size)
{
    QMPIX_Comm_identity identity = {.size = sizeof identity};
    const int result = QMPIX_Comm_get_identity(comm, &identity);
    if (result == MPI_ERR_OTHER)
        return "- - -";
    if (result != MPI_SUCCESS)
        return "failed failed failed";
    snprintf(text, size, "%" PRIx64 " %" PRIx64 " %d", identity.id, identity.parent,
             identity.processes);
    return text;
}

static void after(const QMPIX_Call *call, QMPIX_Word *word)
{
    const MPI_Comm comm = *(const MPI_Comm *)call->arguments[0];
    const char *name = *(const char *const *)call->arguments[1];
    int rank;
    char text[80];
    (void)word;
    PMPI_Comm_rank(comm, &rank);
    trace("identity %d %s %s", rank, name, answer(comm, text, sizeof text));
}

static void note_misuse(void)
{
    QMPIX_Comm_identity identity = {.size = sizeof identity};
    QMPIX_Comm_identity small = {.size = sizeof identity - 1};
    const int early = QMPIX_Comm_get_identity(MPI_COMM_WORLD, &identity);
    const int null = QMPIX_Comm_get_identity(MPI_COMM_NULL, &identity);
    const int nowhere = QMPIX_Comm_get_identity(MPI_COMM_WORLD, NULL);
    const int too_small = QMPIX_Comm_get_identity(MPI_COMM_WORLD, &small);
    if (early != MPI_ERR_OTHER || null != MPI_ERR_ARG || nowhere != MPI_ERR_ARG ||
        too_small != MPI_ERR_ARG || identity.id)
        trace("identity: misuse: %d %d %d %d", early, null, nowhere, too_small);
}

static void init(int tool_id)
{
    static const enum QMPI_Functions_enum functions[] = {MPI_COMM_SET_NAME_T};
    const char *quiet = NULL;
    QMPIX_Tool_get_option(tool_id, "quiet", &quiet);
    const QMPIX_Observer observer = {.size = sizeof observer,
                                     .after = after,
                                     .functions = functions,
                                     .function_count = 1,
                                     .flags = quiet ? 0 : QMPIX_OBSERVE_COMMS};
    if (QMPIX_Register_tool_observer(tool_id, &observer) != MPI_SUCCESS)
        QMPIX_Tool_fail(tool_id, "no observer\nhint: none");
    note_misuse();
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("identity", init);
}
