/* SPDX-License-Identifier: MIT */
/* See persistent.h. */
#include "observe/persistent.h"

#include "observe/handle_key.h"
#include "util/util.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Never freed, so that a reader may stand on any of them; one whose request is 0 is used again. A
 * program that starts a request while another thread frees it is wrong already.
 */
struct operation {
    _Atomic uintptr_t request; /* 0: none */
    struct operation *next;
    struct qmpi_amount amount;
    QMPIX_Transfer transfers[2];
    int transfer_count;
    MPI_Comm comm;
};

enum { BUCKET_BITS = 10 };
static _Atomic(struct operation *) buckets[1 << BUCKET_BITS];
QMPI_LOCK(lock);

/* 0 is kept for "none". */
static uintptr_t key_of(MPI_Request request)
{
    return request == MPI_REQUEST_NULL ? 0 : QMPI_KEY_OF(request);
}

static _Atomic(struct operation *) *bucket_of(uintptr_t key)
{
    return &buckets[qmpi_handle_place(key, BUCKET_BITS)];
}

static struct operation *find(uintptr_t key)
{
    if (!key)
        return NULL;
    struct operation *operation = atomic_load(bucket_of(key));
    while (operation && atomic_load(&operation->request) != key)
        operation = operation->next;
    return operation;
}

static struct operation *find_free(_Atomic(struct operation *) *bucket)
{
    struct operation *operation = atomic_load(bucket);
    while (operation && atomic_load(&operation->request))
        operation = operation->next;
    if (operation)
        return operation;
    operation = calloc(1, sizeof *operation);
    if (operation) {
        operation->next = atomic_load(bucket);
        atomic_store(bucket, operation);
    }
    return operation;
}

void qmpi_persistent_note(const QMPIX_Call *call)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    struct operation noted = {.request = 0};
    if (!qmpi_meaning_succeeded(call))
        return;
    const uintptr_t key = key_of(*QMPI_ARGUMENT(call, meaning->request, MPI_Request *));
    if (!key || qmpi_amount_of(call, &noted.amount) != MPI_SUCCESS ||
        qmpi_amount_transfers(call, noted.transfers, &noted.transfer_count) != MPI_SUCCESS)
        return;
    pthread_mutex_lock(&lock);
    /* Another layer may have noted it, and a request of this handle may be gone unseen. */
    struct operation *operation = find(key);
    if (!operation)
        operation = find_free(bucket_of(key));
    if (operation) {
        operation->amount = noted.amount;
        memcpy(operation->transfers, noted.transfers, sizeof noted.transfers);
        operation->transfer_count = noted.transfer_count;
        operation->comm = QMPI_ARGUMENT(call, meaning->comm, MPI_Comm);
        atomic_store(&operation->request, key);
    }
    pthread_mutex_unlock(&lock);
}

void qmpi_persistent_forget(const MPI_Request *request)
{
    if (!request)
        return;
    pthread_mutex_lock(&lock);
    struct operation *operation = find(key_of(*request));
    if (operation)
        atomic_store(&operation->request, 0);
    pthread_mutex_unlock(&lock);
}

/* ---- What MPI_Start starts ------------------------------------------------------------------- */

static int request_count(const QMPIX_Call *call)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    return meaning->requests ? (int)qmpi_meaning_count(call, meaning->requests, 0) : 1;
}

static const struct operation *started(const QMPIX_Call *call, int i)
{
    const struct qmpi_meaning *meaning = qmpi_meaning_of(call);
    const MPI_Request *requests = QMPI_ARGUMENT(call, meaning->request, MPI_Request *);
    return requests ? find(key_of(requests[i])) : NULL;
}

int qmpi_persistent_amount(const QMPIX_Call *call, struct qmpi_amount *amount)
{
    const int count = request_count(call);
    for (int i = 0; i < count; i++) {
        const struct operation *operation = started(call, i);
        amount->sent += operation ? operation->amount.sent : 0;
        amount->received += operation ? operation->amount.received : 0;
    }
    return MPI_SUCCESS;
}

int qmpi_persistent_each(const QMPIX_Call *call,
                         void (*each)(void *data, const QMPIX_Transfer *transfer), void *data)
{
    const int count = request_count(call);
    for (int i = 0; i < count; i++) {
        const struct operation *operation = started(call, i);
        for (int k = 0; operation && k < operation->transfer_count; k++)
            each(data, &operation->transfers[k]);
    }
    return MPI_SUCCESS;
}

int qmpi_persistent_comm(const QMPIX_Call *call, MPI_Comm *comm)
{
    const struct operation *operation = request_count(call) > 0 ? started(call, 0) : NULL;
    if (!operation)
        return MPI_ERR_ARG;
    *comm = operation->comm;
    return MPI_SUCCESS;
}
