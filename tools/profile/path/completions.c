/* SPDX-License-Identifier: MIT */
/*
 * See completions.h. First all requests are found that have finished, and what they took, since
 * MPI may not be asked about them any more; then their clocks are received.
 */
#include "path/completions.h"

#include "path/collectives.h"
#include "toolkit/toolkit.h"

struct finished {
    struct path *path;
    struct path_request *first, **end;
};

/* ---- What has completed ---------------------------------------------------------------------- */

/* `status` NULL: with an error, and no message was received. */
static void resolve(struct path_request *request, const MPI_Status *status)
{
    int cancelled = 0;
    if (status)
        PMPI_Test_cancelled(status, &cancelled);
    request->is_resolved = true;
    request->matched_source = MPI_PROC_NULL;
    if (!status || cancelled)
        return;
    request->matched_source =
        request->source == MPI_ANY_SOURCE ? status->MPI_SOURCE : request->source;
    request->matched_tag = request->tag == MPI_ANY_TAG ? status->MPI_TAG : request->tag;
}

/* The status does not tell: a clock that has come from any source is that of the message. It was
 * sent before the message, but MPI may see it later. A probe need not say that nothing was
 * cancelled. */
static void resolve_by_clock(struct path_request *request)
{
    enum { TRIES = 10000 };
    MPI_Status status = {0};
    int flag = 0;
    if (request->source == MPI_ANY_SOURCE || request->tag == MPI_ANY_TAG) {
        for (int i = 0; i < TRIES && !flag; i++)
            PMPI_Iprobe(request->source, request->tag, request->comm->shadow, &flag, &status);
    }
    resolve(request, flag ? &status : NULL);
    if (request->source != MPI_ANY_SOURCE && request->tag != MPI_ANY_TAG) {
        request->matched_source = request->source;
        request->matched_tag = request->tag;
    }
}

static void add(struct finished *finished, MPI_Request handle, const MPI_Status *status)
{
    if (handle == MPI_REQUEST_NULL)
        return;
    struct path *path = finished->path;
    struct path_request *request = path_request_find(&path->requests, handle);
    if (!request || (request->is_persistent && !request->is_active))
        return;
    if (!request->is_persistent)
        path_request_detach(&path->requests, request);
    if (request->kind == PATH_RECEIVE && status && !request->has_status)
        resolve_by_clock(request);
    else if (request->kind == PATH_RECEIVE)
        resolve(request, status);
    request->next_completed = NULL;
    *finished->end = request;
    finished->end = &request->next_completed;
}

static bool was_truncated(int error)
{
    int class = MPI_SUCCESS;
    PMPI_Error_class(error, &class);
    return class == MPI_ERR_TRUNCATE;
}

/* A status of a call some of whose requests have failed. */
static void add_failed(struct finished *finished, MPI_Request handle, const MPI_Status *status)
{
    const bool good = status->MPI_ERROR == MPI_SUCCESS || was_truncated(status->MPI_ERROR);
    if (status->MPI_ERROR != MPI_ERR_PENDING)
        add(finished, handle, good ? status : NULL);
}

static MPI_Request request_before(const QMPIX_Call *call, int i)
{
    MPI_Request request = MPI_REQUEST_NULL;
    QMPIX_Call_get_request(call, i, &request);
    return request;
}

static void add_told(struct finished *finished, const QMPIX_Call *call, int request, int argument,
                     int element, bool failed)
{
    MPI_Status status;
    if (!argument_status_at(call, argument, element, &status))
        return; /* memory is exhausted */
    if (failed)
        add_failed(finished, request_before(call, request), &status);
    else
        add(finished, request_before(call, request), &status);
}

static void add_some(struct finished *finished, const QMPIX_Call *call,
                     const struct completion *completion, bool failed)
{
    const int count = argument_int_at(call, completion->outcount); /* MPI_UNDEFINED is below 0 */
    const int *indices = argument_address(call, completion->indices);
    for (int i = 0; i < count; i++)
        add_told(finished, call, indices[i], completion->statuses, i, failed);
}

static void add_all(struct finished *finished, const QMPIX_Call *call,
                    const struct completion *completion, bool failed)
{
    for (int i = 0; i < call->request_count; i++)
        add_told(finished, call, i, completion->statuses, i, failed);
}

/* The error of the operation itself, whose request is gone. */
static void add_gone(struct finished *finished, const QMPIX_Call *call,
                     const struct completion *completion)
{
    MPI_Status status;
    const bool truncated = completion->status >= 0 &&
                           argument_error_class(call) == MPI_ERR_TRUNCATE &&
                           argument_status_at(call, completion->status, 0, &status);
    for (int i = 0; i < call->request_count; i++) {
        if (argument_request_at(call, completion->requests, i) == MPI_REQUEST_NULL)
            add(finished, request_before(call, i), truncated ? &status : NULL);
    }
}

static void add_one(struct finished *finished, const QMPIX_Call *call,
                    const struct completion *completion)
{
    const int index = completion->index < 0 ? 0 : argument_int_at(call, completion->index);
    if (index >= 0 && index < call->request_count)
        add_told(finished, call, index, completion->status, 0, false);
}

static void find(struct finished *finished, const QMPIX_Call *call)
{
    const struct completion *completion = &completions_all[completions_find(call->function)];
    const bool succeeded = argument_result_is_success(call);
    const signed char place = completion->statuses >= 0 ? completion->statuses : completion->status;
    const void *statuses = NULL;
    QMPIX_Call_get_argument(call, place, &statuses);
    if (!call->requests || statuses == MPI_STATUS_IGNORE || statuses == MPI_STATUSES_IGNORE)
        return;
    if (!succeeded && !completions_in_status(call, completion))
        add_gone(finished, call, completion);
    else if (succeeded && completion->flag >= 0 && !argument_int_at(call, completion->flag))
        ;
    else if (completion->outcount >= 0)
        add_some(finished, call, completion, !succeeded);
    else if (completion->statuses >= 0)
        add_all(finished, call, completion, !succeeded);
    else
        add_one(finished, call, completion);
}

/* ---- The clocks ------------------------------------------------------------------------------ */

static void receive_clock(struct path *path, struct path_clock *clock, struct path_request *request)
{
    path_lock(path);
    if (request->matched_source != MPI_PROC_NULL)
        path_clock_reach(clock,
                         path_stream_take(&path->streams, request->comm, request->matched_source,
                                          request->matched_tag, request));
    else
        path_stream_withdraw(&path->streams, request);
    path_unlock(path);
}

static void finish_copy(struct path *path, struct path_clock *clock, struct path_request *request)
{
    const QMPIX_Call copying = {.function = request->function};
    MPI_Comm copy = MPI_COMM_NULL;
    PMPI_Wait(&request->copying, MPI_STATUS_IGNORE);
    QMPIX_Call_convert_elements(&copying, request->created, request->copied, 1, &copy);
    path_clock_reach(clock, path_collective_finish(request));
    path_lock(path);
    if (request->shadow != MPI_COMM_NULL && copy != MPI_COMM_NULL)
        path_comm_add(&path->comms, copy, request->shadow, MPI_COMM_NULL, 0);
    path_unlock(path);
}

void path_complete_after(struct path *path, struct path_clock *clock, const QMPIX_Call *call)
{
    struct finished finished = {.path = path};
    finished.end = &finished.first;
    path_lock(path);
    find(&finished, call);
    path_unlock(path);
    for (struct path_request *it = finished.first, *next; it; it = next) {
        next = it->next_completed;
        if (it->kind == PATH_RECEIVE)
            receive_clock(path, clock, it);
        else if (it->kind == PATH_REDUCTION)
            path_clock_reach(clock, path_collective_finish(it));
        else if (it->kind == PATH_COPY)
            finish_copy(path, clock, it);
        if (it->is_persistent)
            continue;
        path_lock(path);
        path_request_drop(&path->requests, it);
        path_unlock(path);
    }
}
