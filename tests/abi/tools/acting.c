/* SPDX-License-Identifier: MIT */
/* A tool that is compiled for the standard ABI, and adds its own collective call before each
 * MPI_Allreduce. */
#include <qmpi/observer.h>

#include <stdio.h>

static void before(const QMPIX_Call *call, QMPIX_Word *word)
{
    int one = 1, sum = 0;
    (void)call;
    (void)word;
    PMPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    fprintf(stderr, "acting: %d ranks\n", sum);
}

static void init(int tool_id)
{
    static const enum QMPI_Functions_enum functions[] = {MPI_ALLREDUCE_T};
    const QMPIX_Observer observer = {.size = sizeof observer,
                                     .before = before,
                                     .functions = functions,
                                     .function_count = 1,
                                     .flags = QMPIX_OBSERVE_ACTS};
    QMPIX_Register_tool_observer(tool_id, &observer);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("acting", init);
}
