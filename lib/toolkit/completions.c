/* SPDX-License-Identifier: MIT */
/* See completions.h. */
#include "toolkit/completions.h"

#include "toolkit/arguments.h"

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

/* The error class of one of several operations, some of which have failed. */
static int error_of(const QMPIX_Call *call, const struct completion *completion, int i)
{
    MPI_Status status = {.MPI_ERROR = MPI_ERR_UNKNOWN};
    argument_status_at(call, completion->statuses, i, &status);
    return status.MPI_ERROR;
}

struct visit {
    const QMPIX_Call *call;
    const struct completion *completion;
    struct pending *held;
    completions_ended *each;
    void *data;
};

/* What a call that may complete several requests said of those that it has completed. */
static void visit_some(const struct visit *visit)
{
    const struct completion *completion = visit->completion;
    const int count = argument_int_at(visit->call, completion->outcount);
    const int *indices = argument_address(visit->call, completion->indices);
    struct pending *at = visit->held;
    const bool failed = !argument_result_is_success(visit->call);
    /* Implementations list them in order: then this is one walk. The number may be MPI_UNDEFINED,
     * which is below 0. */
    for (int i = 0; i < count; i++) {
        if (!at || at->place > indices[i])
            at = visit->held;
        while (at && at->place < indices[i])
            at = at->next_held;
        const bool bad = failed && error_of(visit->call, completion, i) != MPI_SUCCESS;
        if (at && at->place == indices[i])
            visit->each(visit->data, at, bad ? -1 : completion->statuses, i);
    }
}

static void visit_all(const struct visit *visit)
{
    const struct completion *completion = visit->completion;
    const bool failed = !argument_result_is_success(visit->call);
    for (struct pending *at = visit->held; at; at = at->next_held) {
        const int error = failed ? error_of(visit->call, completion, at->place) : MPI_SUCCESS;
        if (error == MPI_SUCCESS)
            visit->each(visit->data, at, completion->statuses, at->place);
        else if (error != MPI_ERR_PENDING)
            visit->each(visit->data, at, -1, 0);
    }
}

static void visit_one(const struct visit *visit)
{
    const struct completion *completion = visit->completion;
    const int index = completion->index < 0 ? 0 : argument_int_at(visit->call, completion->index);
    struct pending *at = visit->held;
    while (at && at->place != index)
        at = at->next_held;
    if (at)
        visit->each(visit->data, at, completion->status, 0);
}

/* The operation's own error came back, and its request is gone. */
static void visit_failed(const struct visit *visit)
{
    for (struct pending *at = visit->held; at; at = at->next_held) {
        if (argument_request_at(visit->call, visit->completion->requests, at->place) ==
            MPI_REQUEST_NULL)
            visit->each(visit->data, at, -1, 0);
    }
}

void completions_each(const QMPIX_Call *call, const struct completion *completion,
                      struct pending *held, completions_ended *each, void *data)
{
    const struct visit visit = {call, completion, held, each, data};
    const bool succeeded = argument_result_is_success(call);
    if (!succeeded && !completions_in_status(call, completion))
        visit_failed(&visit);
    else if (succeeded && completion->flag >= 0 && !argument_int_at(call, completion->flag))
        ;
    else if (completion->outcount >= 0)
        visit_some(&visit);
    else if (completion->statuses >= 0)
        visit_all(&visit);
    else
        visit_one(&visit);
}
