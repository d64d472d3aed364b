/* SPDX-License-Identifier: MIT */
/* See requests.h; and the requests that a call started or completed. */
#include "observe/requests.h"

#include "observe/semantics.h"

#include <stdlib.h>
#include <string.h>

void qmpi_requests_save(struct qmpi_saved_requests *saved, QMPIX_Call *call, int count,
                        const MPI_Request *requests)
{
    saved->many = NULL;
    if (!(call->observer->flags & QMPIX_OBSERVE_REQUESTS) || count <= 0 || !requests)
        return;
    MPI_Request *copy = saved->few;
    if ((size_t)count > sizeof saved->few / sizeof *saved->few)
        copy = saved->many = malloc((size_t)count * sizeof *copy);
    if (!copy)
        return; /* the record then has none */
    memcpy(copy, requests, (size_t)count * sizeof *copy);
    call->requests = copy;
    call->request_count = count;
}

void qmpi_requests_drop(struct qmpi_saved_requests *saved)
{
    free(saved->many);
}

/* Where memory is out the program's wish holds. */
MPI_Status *qmpi_statuses_give(struct qmpi_statuses *statuses, const QMPIX_Observer *observer,
                               int count, MPI_Status *given)
{
    statuses->many = NULL;
    if (given != MPI_STATUSES_IGNORE || !(observer->flags & QMPIX_OBSERVE_STATUSES) || count <= 0)
        return given;
    if ((size_t)count <= sizeof statuses->few / sizeof *statuses->few)
        return memset(statuses->few, 0, (size_t)count * sizeof *statuses->few);
    statuses->many = calloc((size_t)count, sizeof *statuses->many);
    return statuses->many ? statuses->many : given;
}

void qmpi_statuses_drop(struct qmpi_statuses *statuses)
{
    free(statuses->many);
}

struct list {
    MPI_Request *requests;
    int capacity, count;
};

static void add(struct list *list, MPI_Request request)
{
    if (request == MPI_REQUEST_NULL)
        return;
    if (list->count < list->capacity)
        list->requests[list->count] = request;
    list->count++;
}

/* Every observer of a run may ask for them: in registers, as little as copying them from the record
 * would take. */
static void add_all(struct list *list, const MPI_Request *requests, int request_count)
{
    MPI_Request *const to = list->requests;
    const int capacity = list->capacity;
    int count = list->count;
    for (int i = 0; i < request_count; i++) {
        const MPI_Request request = requests[i];
        if (request != MPI_REQUEST_NULL && count++ < capacity)
            to[count - 1] = request;
    }
    list->count = count;
}

static bool is_valid(const QMPIX_Call *call, const struct list *list, const int *count)
{
    return call && count && list->capacity >= 0 && (list->requests || !list->capacity);
}

int QMPIX_Call_get_started(const QMPIX_Call *call, int capacity, MPI_Request *requests, int *count)
{
    struct list list = {requests, capacity, 0};
    if (!is_valid(call, &list, count))
        return MPI_ERR_ARG;
    if (!call->result)
        return MPI_ERR_OTHER;
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    const bool starts = meaning->immediate || meaning->shape == QMPI_SHAPE_START;
    if (starts && qmpi_meaning_succeeded(call)) {
        const MPI_Request *given = QMPI_ARGUMENT(call, meaning->request, MPI_Request *);
        add_all(&list, given,
                meaning->requests ? (int)qmpi_meaning_count(call, meaning->requests, 0) : 1);
    }
    *count = list.count;
    return MPI_SUCCESS;
}

/* With MPI_ERR_IN_STATUS those are not complete whose status says that they are pending. */
static void list_not_pending(const QMPIX_Call *call, const MPI_Status *statuses, struct list *list)
{
    for (int i = 0; i < call->request_count; i++) {
        if (statuses[i].MPI_ERROR != MPI_ERR_PENDING)
            add(list, call->requests[i]);
    }
}

/* Without a status, what is freed is known to be complete: an inactive persistent request is not.
 */
static void list_freed(const QMPIX_Call *call, struct list *list)
{
    const MPI_Request *given = QMPI_ARGUMENT(call, qmpi_meaning_of(call)->request, MPI_Request *);
    for (int i = 0; i < call->request_count; i++) {
        if (given[i] == MPI_REQUEST_NULL)
            add(list, call->requests[i]);
    }
}

/* Whether the arguments that the call sets are valid. A completion of one request fails with the
 * error of the operation, which tells nothing of them. */
static bool has_results(const QMPIX_Call *call)
{
    int class = MPI_SUCCESS;
    if (qmpi_meaning_succeeded(call))
        return true;
    QMPI_PMPI(Error_class, ERROR_CLASS)(*(const int *)call->result, &class);
    return class == MPI_ERR_IN_STATUS;
}

static void list_completed(const QMPIX_Call *call, struct list *list)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    const bool succeeded = qmpi_meaning_succeeded(call);
    if (!has_results(call)) {
        list_freed(call, list);
    } else if (meaning->flag && !*QMPI_ARGUMENT(call, meaning->flag, int *)) {
        if (!succeeded) /* MPICH 5's MPI_Testall: its requests stay until all are complete */
            list_freed(call, list);
    } else if (meaning->index) {
        const int index = *QMPI_ARGUMENT(call, meaning->index, int *);
        if (index >= 0 && index < call->request_count)
            add(list, call->requests[index]);
    } else if (meaning->indices) {
        const int *indices = QMPI_ARGUMENT(call, meaning->indices, int *);
        const int done = *QMPI_ARGUMENT(call, meaning->outcount, int *);
        for (int i = 0; i < done; i++)
            add(list, call->requests[indices[i]]);
    } else if (succeeded) {
        add_all(list, call->requests, call->request_count);
    } else {
        const MPI_Status *statuses =
            meaning->statuses ? QMPI_ARGUMENT(call, meaning->statuses, MPI_Status *) : NULL;
        if (!statuses || statuses == MPI_STATUSES_IGNORE)
            list_freed(call, list);
        else
            list_not_pending(call, statuses, list);
    }
}

int QMPIX_Call_get_completed(const QMPIX_Call *call, int capacity, MPI_Request *requests,
                             int *count)
{
    struct list list = {requests, capacity, 0};
    if (!is_valid(call, &list, count))
        return MPI_ERR_ARG;
    if (!call->result)
        return MPI_ERR_OTHER;
    if (call->requests && qmpi_meaning_of(call)->shape == QMPI_SHAPE_COMPLETE)
        list_completed(call, &list);
    *count = list.count;
    return MPI_SUCCESS;
}
