/* SPDX-License-Identifier: MIT */
/*
 * See completions.h. First all requests are found that have finished, and what they took, since
 * MPI may not be asked about them any more; then their clocks are received.
 */
#include "path/completions.h"

#include "path/collectives.h"
#include "record/completions.h"

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

static void add_some(struct finished *finished, const QMPIX_Call *call,
                     const struct completion *completion, bool failed)
{
    const int count = *ARGUMENT(call, completion->outcount, int *);
    const int *indices = ARGUMENT(call, completion->indices, int *);
    const MPI_Status *statuses = ARGUMENT(call, completion->statuses, MPI_Status *);
    for (int i = 0; count != MPI_UNDEFINED && i < count; i++) {
        const MPI_Request handle = call->requests[indices[i]];
        if (failed)
            add_failed(finished, handle, &statuses[i]);
        else
            add(finished, handle, &statuses[i]);
    }
}

static void add_all(struct finished *finished, const QMPIX_Call *call,
                    const struct completion *completion, bool failed)
{
    const MPI_Status *statuses = ARGUMENT(call, completion->statuses, MPI_Status *);
    for (int i = 0; i < call->request_count; i++) {
        if (failed)
            add_failed(finished, call->requests[i], &statuses[i]);
        else
            add(finished, call->requests[i], &statuses[i]);
    }
}

/* The error of the operation itself, whose request is gone. */
static void add_gone(struct finished *finished, const QMPIX_Call *call,
                     const struct completion *completion)
{
    const MPI_Request *now = ARGUMENT(call, completion->requests, MPI_Request *);
    const bool truncated = completion->status >= 0 && was_truncated(*(const int *)call->result);
    for (int i = 0; i < call->request_count; i++) {
        if (now[i] == MPI_REQUEST_NULL)
            add(finished, call->requests[i],
                truncated ? ARGUMENT(call, completion->status, MPI_Status *) : NULL);
    }
}

static void add_one(struct finished *finished, const QMPIX_Call *call,
                    const struct completion *completion)
{
    const int index = completion->index < 0 ? 0 : *ARGUMENT(call, completion->index, int *);
    if (index >= 0 && index < call->request_count)
        add(finished, call->requests[index], ARGUMENT(call, completion->status, MPI_Status *));
}

static void find(struct finished *finished, const QMPIX_Call *call)
{
    const struct completion *completion = &completions_all[completions_find(call->function)];
    const bool succeeded = *(const int *)call->result == MPI_SUCCESS;
    const signed char place = completion->statuses >= 0 ? completion->statuses : completion->status;
    const MPI_Status *statuses = ARGUMENT(call, place, MPI_Status *);
    if (!call->requests || statuses == MPI_STATUS_IGNORE || statuses == MPI_STATUSES_IGNORE)
        return;
    if (!succeeded && !completions_in_status(call, completion))
        add_gone(finished, call, completion);
    else if (succeeded && completion->flag >= 0 && !*ARGUMENT(call, completion->flag, int *))
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
    PMPI_Wait(&request->copying, MPI_STATUS_IGNORE);
    path_clock_reach(clock, path_collective_finish(request));
    path_lock(path);
    if (request->shadow != MPI_COMM_NULL && *request->copied != MPI_COMM_NULL)
        path_comm_add(&path->comms, *request->copied, request->shadow, MPI_COMM_NULL, 0);
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
