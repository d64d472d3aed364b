/* SPDX-License-Identifier: MIT */
/* See requests.h. */
#include "observe/requests.h"

#include "observe/record.h"
#include "observe/semantics.h"
#include "util/util.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- Requests of a call ---------------------------------------------------------------------- */

void qmpi_requests_save(struct qmpi_requests_before *saved, QMPIX_Call *call, int count,
                        const MPI_Request *requests)
{
    saved->many = NULL;
    if (!(call->observer->flags & QMPIX_OBSERVE_REQUESTS) || count <= 0 || !requests)
        return;
    MPI_Request *copy = saved->few;
    if ((size_t)count > sizeof saved->few / sizeof *saved->few)
        copy = saved->many = malloc((size_t)count * sizeof *copy);
    if (!copy)
        return; /* the record then has no requests */
    memcpy(copy, requests, (size_t)count * sizeof *copy);
    call->requests = copy;
    call->request_count = count;
}

void qmpi_requests_drop(struct qmpi_requests_before *saved)
{
    free(saved->many);
}

MPI_Status *qmpi_requests_give_statuses(struct qmpi_requests_statuses *statuses,
                                        const QMPIX_Observer *observer, int count,
                                        MPI_Status *given)
{
    statuses->many = NULL;
    if (given != MPI_STATUSES_IGNORE || !(observer->flags & QMPIX_OBSERVE_STATUSES) || count <= 0)
        return given;
    if ((size_t)count <= sizeof statuses->few / sizeof *statuses->few)
        return memset(statuses->few, 0, (size_t)count * sizeof *statuses->few);
    statuses->many = calloc((size_t)count, sizeof *statuses->many);
    return statuses->many ? statuses->many : given;
}

void qmpi_requests_drop_statuses(struct qmpi_requests_statuses *statuses)
{
    free(statuses->many);
}

struct list {
    MPI_Request *requests;
    int capacity, count;
};

static void add_request(struct list *list, MPI_Request request)
{
    if (request == MPI_REQUEST_NULL)
        return;
    if (list->count < list->capacity)
        list->requests[list->count] = request;
    list->count++;
}

/* Keeps its state in registers, because each observer of a run may list the requests. */
static void add_requests(struct list *list, const MPI_Request *requests, int request_count)
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

static bool is_valid_list(const QMPIX_Call *call, const struct list *list, const int *count)
{
    return call && count && list->capacity >= 0 && (list->requests || !list->capacity);
}

int QMPIX_Call_get_started(const QMPIX_Call *call, int capacity, MPI_Request *requests, int *count)
{
    struct list list = {requests, capacity, 0};
    if (!is_valid_list(call, &list, count))
        return MPI_ERR_ARG;
    if (!call->result)
        return MPI_ERR_OTHER;
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    const bool starts =
        qmpi_semantics_has(meaning, QMPIX_TRAIT_NONBLOCKING) || meaning->shape == QMPI_SHAPE_START;
    if (starts && qmpi_semantics_succeeded(call)) {
        const MPI_Request *given = QMPI_ARGUMENT(call, meaning->request, MPI_Request *);
        add_requests(&list, given,
                     meaning->requests ? (int)qmpi_semantics_count(call, meaning->requests, 0) : 1);
    }
    *count = list.count;
    return MPI_SUCCESS;
}

/* If the call failed with MPI_ERR_IN_STATUS, the status tells which requests are pending. */
static void list_not_pending(const QMPIX_Call *call, const MPI_Status *statuses, struct list *list)
{
    for (int i = 0; i < call->request_count; i++) {
        if (statuses[i].MPI_ERROR != MPI_ERR_PENDING)
            add_request(list, call->requests[i]);
    }
}

/* Without statuses, only requests that were freed are known to be complete. Whether an inactive
 * persistent request is complete is not known. */
static void list_freed(const QMPIX_Call *call, struct list *list)
{
    const MPI_Request *given = QMPI_ARGUMENT(call, qmpi_semantics_of(call)->request, MPI_Request *);
    for (int i = 0; i < call->request_count; i++) {
        if (given[i] == MPI_REQUEST_NULL)
            add_request(list, call->requests[i]);
    }
}

/* Whether the arguments that the call sets are valid. If a call that completes a single request
 * fails, the error may be that of the request's operation; it is then unknown whether the arguments
 * are valid. */
static bool has_results(const QMPIX_Call *call)
{
    int class = MPI_SUCCESS;
    if (qmpi_semantics_succeeded(call))
        return true;
    QMPIX_Error_class(*(const int *)call->result, &class);
    return class == MPI_ERR_IN_STATUS;
}

static void list_completed(const QMPIX_Call *call, struct list *list)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    const bool succeeded = qmpi_semantics_succeeded(call);
    if (!has_results(call)) {
        list_freed(call, list);
    } else if (meaning->flag && !*QMPI_ARGUMENT(call, meaning->flag, int *)) {
        if (!succeeded) /* in MPI_Testall of MPICH 5, the requests stay until all are complete */
            list_freed(call, list);
    } else if (meaning->index) {
        const int index = *QMPI_ARGUMENT(call, meaning->index, int *);
        if (index >= 0 && index < call->request_count)
            add_request(list, call->requests[index]);
    } else if (meaning->indices) {
        const int *indices = QMPI_ARGUMENT(call, meaning->indices, int *);
        const int done = *QMPI_ARGUMENT(call, meaning->outcount, int *);
        for (int i = 0; i < done; i++)
            add_request(list, call->requests[indices[i]]);
    } else if (succeeded) {
        add_requests(list, call->requests, call->request_count);
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
    if (!is_valid_list(call, &list, count))
        return MPI_ERR_ARG;
    if (!call->result)
        return MPI_ERR_OTHER;
    if (call->requests && qmpi_semantics_of(call)->shape == QMPI_SHAPE_COMPLETE)
        list_completed(call, &list);
    *count = list.count;
    return MPI_SUCCESS;
}

/* ---- Persistent operations ------------------------------------------------------------------- */

/* The operation of a request. No lock is needed to find and read it, because a correct program does
 * not start a request while another thread frees it. */
struct operation {
    struct qmpi_table_entry entry; /* the key is the request */
    struct qmpi_record_amount amount;
    QMPIX_Transfer transfers[2];
    int transfer_count;
    MPI_Comm comm;
    QMPIX_Transfer *neighbors; /* of a neighborhood collective; NULL: there are none, or memory was
                                  exhausted */
    int neighbor_count;
};

static struct qmpi_table_of_handles operations = {
    .size = sizeof(struct operation), .bits = 10, .take = qmpi_table_take_malloc};
QMPI_LOCK(lock);

static struct operation *find_operation(MPI_Request request)
{
    return request == MPI_REQUEST_NULL
               ? NULL
               : qmpi_table_find_entry(&operations, QMPI_KEY_OF(request), NULL);
}

/* The neighbors of an operation. They are visited twice: first to count, then to store them. */
struct neighbor_list {
    QMPIX_Transfer *all; /* NULL: they are only counted */
    int count;
};

static void list_neighbor(void *data, const QMPIX_Transfer *transfer)
{
    struct neighbor_list *list = data;
    if (list->all)
        list->all[list->count] = *transfer;
    list->count++;
}

static struct neighbor_list list_neighbors(const QMPIX_Call *call)
{
    struct neighbor_list list = {NULL, 0};
    if (qmpi_amount_each_neighbor(call, list_neighbor, &list) == MPI_SUCCESS && list.count)
        list.all = malloc((size_t)list.count * sizeof *list.all);
    list.count = 0;
    if (list.all)
        qmpi_amount_each_neighbor(call, list_neighbor, &list);
    return list;
}

void qmpi_requests_add_persistent(const QMPIX_Call *call)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    struct operation new = {.transfer_count = 0};
    if (!qmpi_semantics_succeeded(call))
        return;
    const MPI_Request request = *QMPI_ARGUMENT(call, meaning->request, MPI_Request *);
    if (request == MPI_REQUEST_NULL || qmpi_amount_of(call, &new.amount) != MPI_SUCCESS ||
        qmpi_amount_transfers(call, new.transfers, &new.transfer_count) != MPI_SUCCESS)
        return;
    struct neighbor_list list = list_neighbors(call);
    pthread_mutex_lock(&lock);
    /* There may be an operation already: another layer has added it, or an earlier request with
     * this handle has ended unnoticed. */
    struct operation *operation = find_operation(request);
    if (!operation)
        operation = qmpi_table_take_entry(&operations, QMPI_KEY_OF(request));
    if (operation) {
        operation->amount = new.amount;
        memcpy(operation->transfers, new.transfers, sizeof new.transfers);
        operation->transfer_count = new.transfer_count;
        operation->comm = QMPI_ARGUMENT(call, meaning->comm, MPI_Comm);
        QMPIX_Transfer *const old = operation->neighbors;
        operation->neighbors = list.all;
        operation->neighbor_count = list.count;
        list.all = old;
        qmpi_table_publish_entry(&operation->entry, QMPI_KEY_OF(request));
    }
    pthread_mutex_unlock(&lock);
    free(list.all);
}

void qmpi_requests_forget_persistent(const MPI_Request *request)
{
    if (!request)
        return;
    pthread_mutex_lock(&lock);
    struct operation *operation = find_operation(*request);
    QMPIX_Transfer *neighbors = NULL;
    if (operation) {
        neighbors = operation->neighbors;
        operation->neighbors = NULL;
        operation->neighbor_count = 0;
        qmpi_table_drop_entry(&operation->entry);
    }
    pthread_mutex_unlock(&lock);
    free(neighbors);
}

/* ---- Operations that MPI_Start starts -------------------------------------------------------- */

static int request_count(const QMPIX_Call *call)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    return meaning->requests ? (int)qmpi_semantics_count(call, meaning->requests, 0) : 1;
}

static const struct operation *started_operation(const QMPIX_Call *call, int i)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    const MPI_Request *requests = QMPI_ARGUMENT(call, meaning->request, MPI_Request *);
    return requests ? find_operation(requests[i]) : NULL;
}

int qmpi_requests_persistent_amount(const QMPIX_Call *call, struct qmpi_record_amount *amount)
{
    const int count = request_count(call);
    for (int i = 0; i < count; i++) {
        const struct operation *operation = started_operation(call, i);
        amount->sent += operation ? operation->amount.sent : 0;
        amount->received += operation ? operation->amount.received : 0;
    }
    return MPI_SUCCESS;
}

int qmpi_requests_each_persistent(const QMPIX_Call *call,
                                  void (*each)(void *data, const QMPIX_Transfer *transfer),
                                  void *data)
{
    const int count = request_count(call);
    for (int i = 0; i < count; i++) {
        const struct operation *operation = started_operation(call, i);
        for (int k = 0; operation && k < operation->transfer_count; k++)
            each(data, &operation->transfers[k]);
    }
    return MPI_SUCCESS;
}

int qmpi_requests_each_persistent_neighbor(const QMPIX_Call *call,
                                           void (*each)(void *data, const QMPIX_Transfer *transfer),
                                           void *data)
{
    const int count = request_count(call);
    for (int i = 0; i < count; i++) {
        const struct operation *operation = started_operation(call, i);
        for (int k = 0; operation && k < operation->neighbor_count; k++)
            each(data, &operation->neighbors[k]);
    }
    return MPI_SUCCESS;
}

int qmpi_requests_persistent_comm(const QMPIX_Call *call, MPI_Comm *comm)
{
    const struct operation *operation = request_count(call) > 0 ? started_operation(call, 0) : NULL;
    if (!operation)
        return MPI_ERR_ARG;
    *comm = operation->comm;
    return MPI_SUCCESS;
}

/* ---- Matched messages ------------------------------------------------------------------------ */

/*
 * There is one place for each hash, and no lock. A message that takes the place of another one
 * replaces it. The serial number of a place grows with each message; its last bits contain the
 * state of the place. A reader that finds the same number before and after, with the state FULL,
 * has read a consistent place. The number also prevents a later message with the same handle from
 * being removed in place of an earlier one.
 */
enum { PLACE_BITS = 12 };
enum { EMPTY, WRITING, FULL, NOTE = 4 };

static struct place {
    _Atomic uint64_t serial;
    atomic_uintptr_t message, comm;
    atomic_int source, tag;
} places[1 << PLACE_BITS];

static struct place *message_place_of(MPI_Message message)
{
    return &places[qmpi_record_place(QMPI_KEY_OF(message), PLACE_BITS)];
}

/* Returns false if another thread is writing to the place. */
static bool take_place(struct place *place, uint64_t *serial)
{
    uint64_t old = atomic_load(&place->serial);
    do {
        *serial = old - old % NOTE + NOTE;
        if (old % NOTE == WRITING)
            return false;
    } while (!atomic_compare_exchange_weak(&place->serial, &old, *serial + WRITING));
    return true;
}

/* Each store has release order, so that a reader that sees any of the new values also sees that the
 * place is being written. The atomic exchange in take_place alone would not order these stores
 * after itself. */
static void fill_place(struct place *place, const struct qmpi_record_matched *matched)
{
    atomic_store_explicit(&place->message, QMPI_KEY_OF(matched->message), memory_order_release);
    atomic_store_explicit(&place->comm, QMPI_KEY_OF(matched->comm), memory_order_release);
    atomic_store_explicit(&place->source, matched->source, memory_order_release);
    atomic_store_explicit(&place->tag, matched->tag, memory_order_release);
}

static bool has_matched(const QMPIX_Call *call)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    return qmpi_semantics_succeeded(call) &&
           (!meaning->flag || *QMPI_ARGUMENT(call, meaning->flag, int *));
}

void qmpi_requests_add_message(const QMPIX_Call *call)
{
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    if (!has_matched(call))
        return;
    const MPI_Status *status = QMPI_ARGUMENT(call, meaning->status, MPI_Status *);
    struct qmpi_record_matched matched = {
        .comm = QMPI_ARGUMENT(call, meaning->comm, MPI_Comm),
        .source = QMPI_ARGUMENT(call, meaning->source, int),
        .tag = QMPI_ARGUMENT(call, meaning->receive_tag, int),
        .message = *QMPI_ARGUMENT(call, meaning->message, MPI_Message *),
    };
    if (matched.message == MPI_MESSAGE_NULL || matched.message == MPI_MESSAGE_NO_PROC)
        return;
    if (status != MPI_STATUS_IGNORE) {
        matched.source = status->MPI_SOURCE;
        matched.tag = status->MPI_TAG;
    }
    struct place *place = message_place_of(matched.message);
    if (!take_place(place, &matched.serial))
        return; /* one of the two messages remains unknown */
    fill_place(place, &matched);
    atomic_store(&place->serial, matched.serial + FULL);
}

struct qmpi_record_matched qmpi_requests_find_message(const MPI_Message *message)
{
    const struct qmpi_record_matched unknown = {
        .comm = MPI_COMM_NULL, .source = MPI_ANY_SOURCE, .tag = MPI_ANY_TAG};
    const struct qmpi_record_matched nobody = {
        .comm = MPI_COMM_NULL, .source = MPI_PROC_NULL, .tag = MPI_ANY_TAG};
    if (!message || *message == MPI_MESSAGE_NULL)
        return unknown;
    if (*message == MPI_MESSAGE_NO_PROC)
        return nobody;
    const struct place *place = message_place_of(*message);
    struct qmpi_record_matched found = {.message = *message, .serial = atomic_load(&place->serial)};
    const uintptr_t key = atomic_load_explicit(&place->message, memory_order_acquire);
    const uintptr_t comm = atomic_load_explicit(&place->comm, memory_order_acquire);
    found.source = atomic_load_explicit(&place->source, memory_order_acquire);
    found.tag = atomic_load_explicit(&place->tag, memory_order_acquire);
    QMPI_KEY_TO(found.comm, comm);
    const bool whole = atomic_load(&place->serial) == found.serial;
    return whole && found.serial % NOTE == FULL && key == QMPI_KEY_OF(*message) ? found : unknown;
}

void qmpi_requests_forget_message(const struct qmpi_record_matched *matched)
{
    uint64_t serial = matched->serial;
    if (serial)
        atomic_compare_exchange_strong(&message_place_of(matched->message)->serial, &serial,
                                       serial - FULL + EMPTY);
}
