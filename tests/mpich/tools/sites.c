/* SPDX-License-Identifier: MIT */
/* A tool of MPICH's variant that keeps the texts about callers of MPI_Comm_size, and counts at the
 * end how many are different, and how many are the same in the second round. */
#include "trace.h"

#include <mpi.h>
#include <stdlib.h>

enum { ROOM = 1024 };

static void *texts[ROOM];
static int count;

static int sites_Comm_size(QMPI_Context context, int tool_id, MPI_Comm comm, int *size)
{
    void (*function)(void) = NULL;
    int next = -1;
    if (count < ROOM)
        QMPI_Get_calling_address(context, &texts[count++]);
    QMPI_Get_function(tool_id, MPI_COMM_SIZE_T, &function, &next);
    return ((QMPI_Comm_size_t *)function)(context, next, comm, size);
}

static int compare(const void *one, const void *other)
{
    const unsigned long long first = strtoull(*(char *const *)one, NULL, 16);
    const unsigned long long second = strtoull(*(char *const *)other, NULL, 16);
    return (first > second) - (first < second);
}

static int sites_Finalize(QMPI_Context context, int tool_id)
{
    void (*function)(void) = NULL;
    int next = -1, same = 0, different = 1;
    for (int i = 0; i < count / 2; i++)
        same += texts[i] == texts[i + count / 2];
    qsort(texts, (size_t)count / 2, sizeof *texts, compare);
    for (int i = 1; i < count / 2; i++)
        different += compare(&texts[i - 1], &texts[i]) != 0;
    trace("sites: %d different, %d the same again", different, same);
    QMPI_Get_function(tool_id, MPI_FINALIZE_T, &function, &next);
    return ((QMPI_Finalize_t *)function)(context, next);
}

static void init(int tool_id)
{
    QMPI_Register_function(tool_id, MPI_COMM_SIZE_T, (void (*)(void))sites_Comm_size);
    QMPI_Register_function(tool_id, MPI_FINALIZE_T, (void (*)(void))sites_Finalize);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("sites", init);
}
