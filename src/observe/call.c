/* SPDX-License-Identifier: MIT */
/*
 * See call.h. These functions of <qmpi/observer.h> return the properties of a call: its arguments,
 * its result, its bytes, its messages, its communicator, its root and its time. Bytes and messages
 * are computed when they are first asked for, and stored in the record for the other observers of
 * this call that are adjacent to this one (a run of observers: see observe.c). Messages of
 * persistent operations, and neighbors, are not stored there.
 */
#include "observe/call.h"

#include "observe/amount.h"
#include "observe/requests.h"
#include "observe/semantics.h"
#include "process/process.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- Arguments and results ------------------------------------------------------------------- */

static const unsigned char sizes[QMPIX_KIND_PCONTROL_WORDS + 1] = {
    [QMPIX_KIND_INT] = sizeof(int),
    [QMPIX_KIND_AINT] = sizeof(MPI_Aint),
    [QMPIX_KIND_COUNT] = sizeof(MPI_Count),
    [QMPIX_KIND_OFFSET] = sizeof(MPI_Offset),
    [QMPIX_KIND_FINT] = sizeof(int),
    [QMPIX_KIND_DOUBLE] = sizeof(double),
    [QMPIX_KIND_COMM] = sizeof(MPI_Comm),
    [QMPIX_KIND_DATATYPE] = sizeof(MPI_Datatype),
    [QMPIX_KIND_ERRHANDLER] = sizeof(MPI_Errhandler),
    [QMPIX_KIND_FILE] = sizeof(MPI_File),
    [QMPIX_KIND_GROUP] = sizeof(MPI_Group),
    [QMPIX_KIND_INFO] = sizeof(MPI_Info),
    [QMPIX_KIND_MESSAGE] = sizeof(MPI_Message),
    [QMPIX_KIND_OP] = sizeof(MPI_Op),
    [QMPIX_KIND_REQUEST] = sizeof(MPI_Request),
    [QMPIX_KIND_SESSION] = sizeof(MPI_Request), /* a session has the size of other handles */
    [QMPIX_KIND_WIN] = sizeof(MPI_Win),
};

size_t qmpi_call_element_size(const QMPIX_Parameter *parameter)
{
    return parameter->indirection > 1 ? sizeof(void *) : parameter->size;
}

size_t qmpi_call_result_size(const QMPIX_Call *call)
{
    return sizes[call->function->result];
}

/* In MPICH, MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY are variables of the library. They are looked up
 * when they are needed, because the library may be loaded after libqmpi. */
#ifdef MPI_UNWEIGHTED
int *qmpi_call_unweighted(void)
{
    return MPI_UNWEIGHTED;
}

int *qmpi_call_weights_empty(void)
{
    return MPI_WEIGHTS_EMPTY;
}
#else
static int *read_library_variable(const char *name)
{
    int *const *variable = qmpi_mpi_library_symbol(name);
    return variable ? *variable : NULL;
}

int *qmpi_call_unweighted(void)
{
    return read_library_variable("MPI_UNWEIGHTED");
}

int *qmpi_call_weights_empty(void)
{
    return read_library_variable("MPI_WEIGHTS_EMPTY");
}
#endif

/* Returns whether a pointer leads nowhere. Of the addresses that are constants, only those of
 * statuses and weights need a check: MPI_BOTTOM and MPI_IN_PLACE are passed for buffers, whose
 * elements have no known size, and MPI_ERRCODES_IGNORE, MPI_ARGV_NULL and MPI_ARGVS_NULL are NULL
 * in all supported MPI libraries. */
static bool leads_nowhere(const QMPIX_Parameter *parameter, const void *address)
{
    if (!address)
        return true;
    if (parameter->kind == QMPIX_KIND_STATUS)
        return address == MPI_STATUS_IGNORE || address == MPI_STATUSES_IGNORE;
    return parameter->kind == QMPIX_KIND_INT &&
           qmpi_record_parameter_constants(parameter) == QMPIX_CONSTANTS_WEIGHTS &&
           (address == qmpi_call_unweighted() || address == qmpi_call_weights_empty());
}

_Static_assert(!MPI_ERRCODES_IGNORE && !MPI_ARGV_NULL && !MPI_ARGVS_NULL,
               "leads_nowhere must check these constants");

const void *qmpi_call_elements(const QMPIX_Call *call, int index, int first, int count)
{
    const QMPIX_Parameter *parameter = qmpi_call_parameter(call, index);
    if (!parameter || !parameter->indirection || first < 0 || count < 0)
        return NULL;
    const size_t size = qmpi_call_element_size(parameter);
    const char *array = *(const char *const *)call->arguments[index];
    return size && !leads_nowhere(parameter, array) ? array + (size_t)first * size : NULL;
}

int QMPIX_Call_get_argument(const QMPIX_Call *call, int index, void *value)
{
    const QMPIX_Parameter *parameter = qmpi_call_parameter(call, index);
    if (!parameter || !value)
        return MPI_ERR_ARG;
    memcpy(value, call->arguments[index],
           parameter->indirection ? sizeof(void *) : parameter->size);
    return MPI_SUCCESS;
}

int QMPIX_Call_get_elements(const QMPIX_Call *call, int index, int first, int count, void *values)
{
    const void *elements = qmpi_call_elements(call, index, first, count);
    if (!elements)
        return MPI_ERR_ARG;
    return QMPIX_Call_convert_elements(call, index, elements, count, values);
}

int QMPIX_Call_convert_elements(const QMPIX_Call *call, int index, const void *elements, int count,
                                void *values)
{
    const QMPIX_Parameter *parameter = qmpi_call_parameter(call, index);
    if (!parameter || !elements || count < 0 || !values)
        return MPI_ERR_ARG;
    memmove(values, elements, (size_t)count * qmpi_call_element_size(parameter));
    return MPI_SUCCESS;
}

int QMPIX_Call_get_result(const QMPIX_Call *call, void *value)
{
    if (!call || !value || !qmpi_call_result_size(call))
        return MPI_ERR_ARG;
    if (!call->result)
        return MPI_ERR_OTHER;
    memcpy(value, call->result, qmpi_call_result_size(call));
    return MPI_SUCCESS;
}

int QMPIX_Call_get_request(const QMPIX_Call *call, int index, MPI_Request *request)
{
    if (!call || !request || !call->requests || index < 0 || index >= call->request_count)
        return MPI_ERR_ARG;
    *request = call->requests[index];
    return MPI_SUCCESS;
}

/* ---- Bytes of statuses ----------------------------------------------------------------------- */

/* Whether the members of a status contain the values that the functions of MPI return. Threads that
 * check this at the same time get the same result. */
static enum { UNKNOWN, AGREE, DIFFER } members;

static inline MPI_Count member_bytes(const MPI_Status *status)
{
#if defined(QMPI_STATUS_HAS_COUNT_LO)
    return (MPI_Count)((uint32_t)status->count_lo |
                       (uint64_t)((uint32_t)status->count_hi_and_cancelled >> 1) << 32);
#elif defined(QMPI_STATUS_HAS_UCOUNT)
    return (MPI_Count)status->_ucount;
#else /* members of unknown names: members_agree must fail */
    return status ? 0 : 1;
#endif
}

static inline bool member_cancelled(const MPI_Status *status)
{
#if defined(QMPI_STATUS_HAS_COUNT_LO)
    return status->count_hi_and_cancelled & 1;
#elif defined(QMPI_STATUS_HAS_UCOUNT)
    return status->_cancelled;
#else
    return !status;
#endif
}

static bool members_agree(MPI_Count bytes, int cancelled)
{
    MPI_Status status = {0};
    return QMPI_PMPI(Status_set_elements_x, STATUS_SET_ELEMENTS_X)(&status, MPI_BYTE, bytes) ==
               MPI_SUCCESS &&
           QMPI_PMPI(Status_set_cancelled, STATUS_SET_CANCELLED)(&status, cancelled) ==
               MPI_SUCCESS &&
           member_bytes(&status) == bytes && member_cancelled(&status) == (cancelled != 0);
}

static void check_status_members(void)
{
    const bool good = members_agree(0, 0) && members_agree(INT32_MAX, 0) &&
                      members_agree(0x89abcdef, 1) && members_agree((MPI_Count)0x123456789a, 0) &&
                      members_agree((MPI_Count)0x123456789a, 1);
    __atomic_store_n(&members, good ? AGREE : DIFFER, __ATOMIC_RELEASE);
}

__attribute__((noinline)) static int ask_library(const MPI_Status *status, MPI_Count *bytes)
{
    int count, cancelled = 0;
    MPI_Count elements = 0;
    if (members == UNKNOWN)
        check_status_members();
    QMPI_PMPI(Test_cancelled, TEST_CANCELLED)(status, &cancelled);
    if (cancelled) {
        *bytes = 0;
        return MPI_SUCCESS;
    }
    /* MPI_Get_count takes half as many instructions as MPI_Get_elements_x, but fails if the count
     * exceeds an int. */
    if (QMPI_PMPI(Get_count, GET_COUNT)(status, MPI_BYTE, &count) == MPI_SUCCESS && count >= 0) {
        *bytes = count;
        return MPI_SUCCESS;
    }
    if (QMPI_PMPI(Get_elements_x, GET_ELEMENTS_X)(status, MPI_BYTE, &elements) != MPI_SUCCESS ||
        elements < 0)
        return MPI_ERR_OTHER;
    *bytes = elements;
    return MPI_SUCCESS;
}

int QMPIX_Call_get_status_bytes(const QMPIX_Call *call, int index, int element, MPI_Count *bytes)
{
    const QMPIX_Parameter *parameter = qmpi_call_parameter(call, index);
    if (!parameter || parameter->kind != QMPIX_KIND_STATUS || element < 0 || !bytes)
        return MPI_ERR_ARG;
    const MPI_Status *statuses = *(MPI_Status *const *)call->arguments[index];
    if (!statuses || statuses == MPI_STATUS_IGNORE || statuses == MPI_STATUSES_IGNORE)
        return MPI_ERR_ARG;
    const MPI_Status *status = statuses + element;
    if (__builtin_expect(members != AGREE, 0))
        return ask_library(status, bytes);
    *bytes = member_cancelled(status) ? 0 : member_bytes(status);
    return MPI_SUCCESS;
}

/* ---- Bytes and messages ---------------------------------------------------------------------- */

/* Whether a result is in the record. Results of `before` are invalid in `after`. */
static bool is_known(const QMPIX_Call *call, unsigned what)
{
    struct qmpi_record *record = qmpi_record_of(call);
    if (call->result && !(call->reserved & QMPI_KNOWS_IN_AFTER))
        record->call.reserved = QMPI_KNOWS_IN_AFTER;
    return call->reserved & what;
}

/* Sets whether a call moves data. Returns an error class if MPI cannot be queried. */
static int check_moves(const QMPIX_Call *call, bool *moves)
{
    *moves = true;
    if (is_known(call, QMPI_KNOWS_MOVES))
        return MPI_SUCCESS;
    const int result = qmpi_amount_check(call, moves);
    if (result == MPI_SUCCESS && *moves)
        qmpi_record_of(call)->call.reserved |= QMPI_KNOWS_MOVES;
    return result;
}

int QMPIX_Call_get_bytes(const QMPIX_Call *call, MPI_Count *sent, MPI_Count *received)
{
    bool moves;
    if (!call)
        return MPI_ERR_ARG;
    struct qmpi_record_amount *amount = &qmpi_record_of(call)->amount;
    if (!is_known(call, QMPI_KNOWS_AMOUNT)) {
        *amount = (struct qmpi_record_amount){0, 0};
        int result = check_moves(call, &moves);
        if (result == MPI_SUCCESS && moves) {
            result = qmpi_semantics_of(call)->shape == QMPI_SHAPE_START
                         ? qmpi_requests_persistent_amount(call, amount)
                         : qmpi_amount_of(call, amount);
        }
        if (result != MPI_SUCCESS)
            return result;
        qmpi_record_of(call)->call.reserved |= QMPI_KNOWS_AMOUNT;
    }
    if (sent)
        *sent = amount->sent;
    if (received)
        *received = amount->received;
    return MPI_SUCCESS;
}

int QMPIX_Call_for_each_transfer(const QMPIX_Call *call,
                                 void (*each)(void *data, const QMPIX_Transfer *transfer),
                                 void *data)
{
    bool moves;
    if (!call || !each)
        return MPI_ERR_ARG;
    struct qmpi_record *record = qmpi_record_of(call);
    if (!is_known(call, QMPI_KNOWS_TRANSFERS)) {
        int result = check_moves(call, &moves);
        if (result != MPI_SUCCESS || !moves)
            return result;
        if (qmpi_semantics_of(call)->shape == QMPI_SHAPE_START)
            return qmpi_requests_each_persistent(call, each, data);
        result = qmpi_amount_transfers(call, record->transfers, &record->transfer_count);
        if (result != MPI_SUCCESS)
            return result;
        record->call.reserved |= QMPI_KNOWS_TRANSFERS;
    }
    for (int i = 0; i < record->transfer_count; i++) {
        const QMPIX_Transfer transfer = record->transfers[i];
        each(data, &transfer);
    }
    return MPI_SUCCESS;
}

int QMPIX_Call_for_each_neighbor(const QMPIX_Call *call,
                                 void (*each)(void *data, const QMPIX_Transfer *transfer),
                                 void *data)
{
    bool moves;
    if (!call || !each)
        return MPI_ERR_ARG;
    const int result = check_moves(call, &moves);
    if (result != MPI_SUCCESS || !moves)
        return result;
    return qmpi_semantics_of(call)->shape == QMPI_SHAPE_START
               ? qmpi_requests_each_persistent_neighbor(call, each, data)
               : qmpi_amount_each_neighbor(call, each, data);
}

struct first_transfer {
    bool found;
    QMPIX_Transfer transfer;
};

static void take_first(void *data, const QMPIX_Transfer *transfer)
{
    struct first_transfer *first = data;
    if (!first->found)
        *first = (struct first_transfer){true, *transfer};
}

int QMPIX_Call_get_peer(const QMPIX_Call *call, int *peer, int *world, int *tag)
{
    struct first_transfer first = {.found = false};
    const int result = QMPIX_Call_for_each_transfer(call, take_first, &first);
    if (result != MPI_SUCCESS)
        return result;
    if (!first.found)
        return MPI_ERR_ARG;
    if (peer)
        *peer = first.transfer.peer;
    if (world)
        *world = first.transfer.world;
    if (tag)
        *tag = first.transfer.tag;
    return MPI_SUCCESS;
}

int QMPIX_Call_get_comm(const QMPIX_Call *call, MPI_Comm *comm)
{
    if (!call || !comm)
        return MPI_ERR_ARG;
    const struct qmpi_semantics *meaning = qmpi_semantics_of(call);
    if (meaning->shape == QMPI_SHAPE_START)
        return qmpi_requests_persistent_comm(call, comm);
    const struct qmpi_record_matched *matched = qmpi_amount_matched(call);
    if (matched && matched->comm != MPI_COMM_NULL) {
        *comm = matched->comm;
        return MPI_SUCCESS;
    }
    if (!meaning->comm)
        return MPI_ERR_ARG;
    if (qmpi_semantics_is_array(call, meaning->comm))
        *comm = *QMPI_ARGUMENT(call, meaning->comm, MPI_Comm *);
    else
        *comm = QMPI_ARGUMENT(call, meaning->comm, MPI_Comm);
    return MPI_SUCCESS;
}

int QMPIX_Call_get_root(const QMPIX_Call *call, int *root)
{
    if (!call || !root || !qmpi_semantics_of(call)->root)
        return MPI_ERR_ARG;
    *root = QMPI_ARGUMENT(call, qmpi_semantics_of(call)->root, int);
    return MPI_SUCCESS;
}

/* ---- The time of a call ---------------------------------------------------------------------- */

static bool is_requested(const QMPIX_Call *call, unsigned flag)
{
    return call->observer->flags & flag;
}

int QMPIX_Call_get_time(const QMPIX_Call *call, uint64_t *begin, uint64_t *end)
{
    if (!call)
        return MPI_ERR_ARG;
    if (!call->result || !is_requested(call, QMPIX_OBSERVE_TIME))
        return MPI_ERR_OTHER;
    const struct qmpi_record *record = qmpi_record_of(call);
    if (begin)
        *begin = record->begin;
    if (end)
        *end = record->end;
    return MPI_SUCCESS;
}

int QMPIX_Call_get_entry_time(const QMPIX_Call *call, uint64_t *time)
{
    if (!call || !time)
        return MPI_ERR_ARG;
    if (!is_requested(call, QMPIX_OBSERVE_ENTRY_TIME))
        return MPI_ERR_OTHER;
    *time = qmpi_record_of(call)->entry;
    return MPI_SUCCESS;
}

int QMPIX_Call_get_begin_address(const QMPIX_Call *call, const uint64_t **begin)
{
    if (!call || !begin)
        return MPI_ERR_ARG;
    if (!is_requested(call, QMPIX_OBSERVE_TIME))
        return MPI_ERR_OTHER;
    *begin = &qmpi_record_of(call)->begin;
    return MPI_SUCCESS;
}
