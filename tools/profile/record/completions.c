/* SPDX-License-Identifier: MIT */
/* See completions.h. */
#include "record/completions.h"

#include "record/arguments.h"

const struct completion completions_all[] = {
    {MPI_WAIT_T, -1, 0, -1, -1, -1, -1, 1, -1},   {MPI_TEST_T, -1, 0, 1, -1, -1, -1, 2, -1},
    {MPI_WAITANY_T, 0, 1, -1, 2, -1, -1, 3, -1},  {MPI_TESTANY_T, 0, 1, 3, 2, -1, -1, 4, -1},
    {MPI_WAITALL_T, 0, 1, -1, -1, -1, -1, -1, 2}, {MPI_TESTALL_T, 0, 1, 2, -1, -1, -1, -1, 3},
    {MPI_WAITSOME_T, 0, 1, -1, -1, 2, 3, -1, 4},  {MPI_TESTSOME_T, 0, 1, -1, -1, 2, 3, -1, 4},
};

int completions_find(const QMPIX_Function *function)
{
    for (size_t i = 0; i < sizeof completions_all / sizeof *completions_all; i++) {
        if (completions_all[i].number == function->number)
            return (int)i;
    }
    return 0;
}

bool completions_in_status(const QMPIX_Call *call, const struct completion *completion)
{
    return completion->statuses >= 0 && argument_error_class(call) == MPI_ERR_IN_STATUS;
}
