/* SPDX-License-Identifier: MIT */
/* See pending.h. */
#include "toolkit/pending.h"

#include "toolkit/arguments.h"
#include "util/util.h"

bool pending_make(struct pending_table *table, size_t size)
{
    table->table =
        (struct qmpi_table_of_handles){.size = size, .bits = 12, .take = qmpi_memory_take};
    return qmpi_table_begin_handles(&table->table);
}

struct pending *pending_find(const struct pending_table *table, uint64_t handle,
                             const struct pending *previous)
{
    struct pending *pending = qmpi_table_find_entry(&table->table, handle, previous);
    while (pending && pending_is_held(pending))
        pending = qmpi_table_find_entry(&table->table, handle, pending);
    return pending;
}

/* ---- Completed requests ---------------------------------------------------------------------- */

struct pending_completion pending_describe_completion(const QMPIX_Traits *traits)
{
    return (struct pending_completion){
        .count = (signed char)traits->requests,
        .requests = (signed char)traits->request,
        .flag = (signed char)traits->flag,
        .index = (signed char)traits->index,
        .outcount = (signed char)traits->outcount,
        .indices = (signed char)traits->indices,
        .status = (signed char)traits->status,
        .statuses = (signed char)traits->statuses,
    };
}

bool pending_in_status(const QMPIX_Call *call, const struct pending_completion *completion)
{
    return completion->statuses >= 0 && argument_error_class(call) == MPI_ERR_IN_STATUS;
}

/* Returns the error code in the status of one of several operations, some of which have failed, or
 * MPI_ERR_UNKNOWN if the program has ignored the statuses. */
static int error_of(const QMPIX_Call *call, const struct pending_completion *completion, int i)
{
    MPI_Status status = {.MPI_ERROR = MPI_ERR_UNKNOWN};
    argument_status_at(call, completion->statuses, i, &status);
    return status.MPI_ERROR;
}

struct visit {
    const QMPIX_Call *call;
    const struct pending_completion *completion;
    struct pending *held;
    pending_ended *each;
    void *data;
};

/* Visits the requests that the output argument `indices` of MPI_Waitsome or MPI_Testsome lists. */
static void visit_some(const struct visit *visit)
{
    const struct pending_completion *completion = visit->completion;
    const int count = argument_int_at(visit->call, completion->outcount);
    const int *indices = argument_address(visit->call, completion->indices);
    struct pending *at = visit->held;
    const bool failed = !argument_result_is_success(visit->call);
    /* MPI libraries usually list the indices in ascending order, so that one pass over the list is
     * enough. `count` may be MPI_UNDEFINED, which is negative. */
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
    const struct pending_completion *completion = visit->completion;
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
    const struct pending_completion *completion = visit->completion;
    const int index = completion->index < 0 ? 0 : argument_int_at(visit->call, completion->index);
    struct pending *at = visit->held;
    while (at && at->place != index)
        at = at->next_held;
    if (at)
        visit->each(visit->data, at, completion->status, 0);
}

/* Visits the request of the operation whose error the call has returned. MPI has freed this
 * request, so its handle is now MPI_REQUEST_NULL. */
static void visit_failed(const struct visit *visit)
{
    for (struct pending *at = visit->held; at; at = at->next_held) {
        if (argument_request_at(visit->call, visit->completion->requests, at->place) ==
            MPI_REQUEST_NULL)
            visit->each(visit->data, at, -1, 0);
    }
}

void pending_each_completed(const QMPIX_Call *call, const struct pending_completion *completion,
                            struct pending *held, pending_ended *each, void *data)
{
    const struct visit visit = {call, completion, held, each, data};
    const bool succeeded = argument_result_is_success(call);
    if (!succeeded && !pending_in_status(call, completion))
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
