/* SPDX-License-Identifier: MIT */
/* See fault.h. */
#include "tools/delay/fault.h"

#include "tools/delay/error_object.h"
#include "util/util.h"

#include <qmpi/wrappers.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool fault_is_used;

/* A fault is armed by the observer's `before` callback and taken by the interceptor, which follows
 * in the same thread. */
struct fault {
    struct rule *rule; /* NULL if the call does not fail */
    const QMPIX_Function *function;
    uint64_t n; /* number of the call */
    struct error_object error_object;
    const QMPIX_Call *call; /* on the stack until the call is over */
};
static _Thread_local struct fault armed;

/* These are the faults of calls that a signal handler has interrupted with calls of its own. At
 * most DEEPEST are put aside. Further faults are dropped, so that their calls do not fail. */
enum { DEEPEST = 8 };
static _Thread_local struct aside {
    const QMPIX_Call *by; /* the call in the signal handler */
    struct fault fault;
} asides[DEEPEST];
static _Thread_local int aside_count;

/* The position on the stack from which the error handler was called, or NULL. It is used to detect
 * that the handler was left with longjmp or a C++ exception: a call whose record lies above this
 * position cannot come from the handler. */
static _Thread_local const char *handler;

void fault_arm(struct rule *rule, const QMPIX_Call *call, uint64_t n)
{
    armed = (struct fault){rule, call->function, n, error_object_of(call), call};
}

/* Returns whether a call was left by a longjmp out of a signal handler. Its record then lies below
 * the present frame. */
static bool was_left(const QMPIX_Call *call)
{
    return (const char *)call <= (const char *)__builtin_frame_address(0);
}

void fault_enter(const QMPIX_Call *call)
{
    while (aside_count && was_left(asides[aside_count - 1].by))
        aside_count--;
    if (!armed.rule)
        return;
    if (!was_left(armed.call) && aside_count < DEEPEST)
        asides[aside_count++] = (struct aside){call, armed};
    armed.rule = NULL;
}

void fault_leave(const QMPIX_Call *call)
{
    while (aside_count && was_left(asides[aside_count - 1].by))
        aside_count--;
    if (aside_count && asides[aside_count - 1].by == call)
        armed = asides[--aside_count].fault;
}

bool fault_is_handled(const QMPIX_Call *call)
{
    if (handler && (const char *)call >= handler)
        handler = NULL;
    return handler != NULL;
}

/* Returns the fault of the call, and disarms it. */
static struct fault take_fault(void)
{
    const struct fault mine = armed;
    armed.rule = NULL;
    return mine;
}

/* Prints that delay has caused the error that ends the job, because MPI prints only the error. */
static void announce_end(const struct fault *fault)
{
    const struct rule *rule = fault->rule;
    qmpi_printf("delay (layer %d): rank %d: call %llu of %s reports an error, and the error "
                "handler ends the job",
                rule->tool_id, rule->rank, (unsigned long long)fault->n,
                rule->count_each ? fault->function->name : "the selected functions");
}

/* Calls the error handler as MPI does, and returns the result of the call that fails. */
static int report_error(const struct fault *fault, int code)
{
    __atomic_add_fetch(&fault->rule->failed, 1, __ATOMIC_RELAXED);
    if (error_object_is_fatal(&fault->error_object))
        announce_end(fault);
    handler = __builtin_frame_address(0);
    const int result = error_object_invoke(&fault->error_object, code);
    handler = NULL;
    return result;
}

/* Returns whether the result shows an error. Functions whose result is not an int cannot fail and
 * never reach this code. */
static bool has_failed(const void *result, size_t size)
{
    int code = MPI_SUCCESS;
    if (size == sizeof code)
        memcpy(&code, result, sizeof code);
    return code != MPI_SUCCESS;
}

/* Replaces the result of a call by an error. `result` is MPI_SUCCESS if the call was not carried
 * out. A call that has failed by itself keeps its error. */
static void fail_call(const struct fault *fault, void *result, size_t size)
{
    if (has_failed(result, size))
        return;
    const int code = report_error(fault, fault->rule->error);
    if (size == sizeof code)
        memcpy(result, &code, sizeof code);
}

/* Takes the fault of this call and returns whether the call is to be carried out. */
__attribute__((noinline)) static bool take_carried_out(struct fault *fault)
{
    *fault = take_fault();
    return !fault->rule || fault->rule->carry_out;
}

/* There are hundreds of these functions, so they contain as little as possible. They are excluded
 * from sanitizers (no_sanitize), because a compiler would need minutes to instrument them. */
#define WRAP(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                             \
    __attribute__((no_sanitize("address,undefined"))) static RESULT fail_##X PARAMETERS            \
    {                                                                                              \
        struct fault delay_fault;                                                                  \
        RESULT delay_result = 0;                                                                   \
        if (take_carried_out(&delay_fault))                                                        \
            delay_result = QMPIX_NEXT(context, X) ARGUMENTS;                                       \
        if (delay_fault.rule)                                                                      \
            fail_call(&delay_fault, &delay_result, sizeof delay_result);                           \
        return delay_result;                                                                       \
    }
QMPIX_FOR_EACH_FUNCTION(WRAP)

/* ---- Completion of several requests ---------------------------------------------------------- */

/*
 * In MPI_Waitall, MPI_Testall, MPI_Waitsome and MPI_Testsome, one request fails, and the call
 * returns MPI_ERR_IN_STATUS. In the statuses, the other requests are pending or, with
 * carry-out=yes, complete. MPICH raises MPI_ERR_IN_STATUS on the object that it uses for calls
 * without a handle. Open MPI raises the error of the request on its origin.
 */

/* Returns an array of the requests' error objects, which take_error_object frees. Returns NULL if
 * the call does not fail, if MPI ignores these objects, or if memory is exhausted. The objects must
 * be found before the requests are complete. */
static struct error_object *find_request_objects(const struct fault *fault, int count,
                                                 const MPI_Request requests[])
{
    if (!error_object_as_open_mpi || !fault->rule || count <= 0 || !requests)
        return NULL;
    struct error_object *objects = malloc((size_t)count * sizeof *objects);
    for (int i = 0; objects && i < count; i++)
        objects[i] = error_object_of_request(requests[i]);
    return objects;
}

/* Sets the object of the fault to that of request `i`, unless `i` is negative or `objects` is NULL.
 * Frees `objects`. */
static void take_error_object(struct fault *fault, struct error_object *objects, int i)
{
    if (objects && i >= 0)
        fault->error_object = objects[i];
    free(objects);
}

/* Returns the index of the first request that is not null, or -1. */
static int find_first_request(int count, const MPI_Request requests[])
{
    for (int i = 0; requests && i < count; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            return i;
    }
    return -1;
}

/* Reports that the request of status `at` has failed, and returns the result of the call. If all
 * requests are null, `at` is -1 and the error is that of the call itself. */
static int blame_request(const struct fault *fault, int at, int count, MPI_Status statuses[])
{
    if (at < 0)
        return report_error(fault, fault->rule->error);
    for (int i = 0; statuses != MPI_STATUSES_IGNORE && i < count; i++)
        statuses[i].MPI_ERROR = fault->rule->carry_out ? MPI_SUCCESS : MPI_ERR_PENDING;
    if (statuses != MPI_STATUSES_IGNORE)
        statuses[at].MPI_ERROR = fault->rule->error;
    const int result =
        report_error(fault, error_object_as_open_mpi ? fault->rule->error : MPI_ERR_IN_STATUS);
    return result == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_IN_STATUS;
}

static int fail_all(QMPI_Context context, int count, MPI_Request requests[], MPI_Status statuses[])
{
    struct fault fault = take_fault();
    const int at = find_first_request(count, requests);
    int result = MPI_SUCCESS;
    take_error_object(&fault, find_request_objects(&fault, count, requests), at);
    if (!fault.rule || fault.rule->carry_out)
        result =
            QMPIX_NEXT(context, Waitall)(QMPIX_NEXT_CONTEXT(context), count, requests, statuses);
    return !fault.rule || result != MPI_SUCCESS ? result
                                                : blame_request(&fault, at, count, statuses);
}

static int fail_test_all(QMPI_Context context, int count, MPI_Request requests[], int *flag,
                         MPI_Status statuses[])
{
    struct fault fault = take_fault();
    const int at = find_first_request(count, requests);
    take_error_object(&fault, find_request_objects(&fault, count, requests), at);
    if (!fault.rule || fault.rule->carry_out) {
        const int result = QMPIX_NEXT(context, Testall)(QMPIX_NEXT_CONTEXT(context), count,
                                                        requests, flag, statuses);
        if (!fault.rule || result != MPI_SUCCESS || !*flag)
            return result; /* Without the flag, no request is complete, so none has failed. */
    } else if (flag) {
        *flag = 0;
    }
    return blame_request(&fault, at, count, statuses);
}

/* In MPI_Waitsome and MPI_Testsome, the first request that is reported fails. If the call is not
 * carried out, this is the first one that is not null. */
static int fail_some(QMPI_Waitsome_t *next, QMPI_Context context, int count, MPI_Request requests[],
                     int *outcount, int indices[], MPI_Status statuses[])
{
    struct fault fault = take_fault();
    struct error_object *objects = find_request_objects(&fault, count, requests);
    if (!fault.rule || fault.rule->carry_out) {
        const int result = next(context, count, requests, outcount, indices, statuses);
        const bool some = result == MPI_SUCCESS && *outcount != MPI_UNDEFINED && *outcount > 0;
        take_error_object(&fault, objects, some ? indices[0] : -1);
        return !fault.rule || !some ? result : blame_request(&fault, 0, *outcount, statuses);
    }
    const int at = find_first_request(count, requests);
    take_error_object(&fault, objects, at);
    if (at >= 0 && outcount && indices) {
        *outcount = 1;
        indices[0] = at;
    }
    return blame_request(&fault, at < 0 ? -1 : 0, 1, statuses);
}

static int fail_wait_some(QMPI_Context context, int count, MPI_Request requests[], int *outcount,
                          int indices[], MPI_Status statuses[])
{
    return fail_some(QMPIX_NEXT(context, Waitsome), QMPIX_NEXT_CONTEXT(context), count, requests,
                     outcount, indices, statuses);
}

static int fail_test_some(QMPI_Context context, int count, MPI_Request requests[], int *outcount,
                          int indices[], MPI_Status statuses[])
{
    return fail_some(QMPIX_NEXT(context, Testsome), QMPIX_NEXT_CONTEXT(context), count, requests,
                     outcount, indices, statuses);
}

/* In MPI_Waitany and MPI_Testany, the request that is reported fails, or the first one that is not
 * null if none is reported. These functions differ from those of one request only in the object of
 * the error. */
static int fail_wait_any(QMPI_Context context, int count, MPI_Request requests[], int *index,
                         MPI_Status *status)
{
    struct fault fault = take_fault();
    struct error_object *objects = find_request_objects(&fault, count, requests);
    int at = find_first_request(count, requests), result = MPI_SUCCESS;
    if (!fault.rule || fault.rule->carry_out) {
        result = QMPIX_NEXT(context, Waitany)(QMPIX_NEXT_CONTEXT(context), count, requests, index,
                                              status);
        if (fault.rule && result == MPI_SUCCESS && *index != MPI_UNDEFINED)
            at = *index;
    }
    take_error_object(&fault, objects, at);
    return !fault.rule || result != MPI_SUCCESS ? result : report_error(&fault, fault.rule->error);
}

static int fail_test_any(QMPI_Context context, int count, MPI_Request requests[], int *index,
                         int *flag, MPI_Status *status)
{
    struct fault fault = take_fault();
    struct error_object *objects = find_request_objects(&fault, count, requests);
    int at = find_first_request(count, requests), result = MPI_SUCCESS;
    if (!fault.rule || fault.rule->carry_out) {
        result = QMPIX_NEXT(context, Testany)(QMPIX_NEXT_CONTEXT(context), count, requests, index,
                                              flag, status);
        if (fault.rule && result == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED)
            at = *index;
    }
    take_error_object(&fault, objects, at);
    return !fault.rule || result != MPI_SUCCESS ? result : report_error(&fault, fault.rule->error);
}

/* ---- Joining the stack ----------------------------------------------------------------------- */

/* The interceptors are registered from a table. With sanitizers, the compiler would need minutes
 * for hundreds of calls that register one each. */
#define LIST(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS) {NUMBER, (void (*)(void))fail_##X},

/* If a function has two rows, the last one applies. */
static const struct {
    enum QMPI_Functions_enum number;
    void (*function)(void);
} interceptors[] = {
    QMPIX_FOR_EACH_FUNCTION(LIST) /* These functions complete several requests: */
    {MPI_WAITALL_T, (void (*)(void))fail_all},
    {MPI_TESTALL_T, (void (*)(void))fail_test_all},
    {MPI_WAITSOME_T, (void (*)(void))fail_wait_some},
    {MPI_TESTSOME_T, (void (*)(void))fail_test_some},
    {MPI_WAITANY_T, (void (*)(void))fail_wait_any},
    {MPI_TESTANY_T, (void (*)(void))fail_test_any},
};

void fault_register(const struct rule *rule)
{
    fault_is_used = true;
    error_object_start();
    for (size_t i = 0; i < sizeof interceptors / sizeof *interceptors; i++) {
        const enum QMPI_Functions_enum number = interceptors[i].number;
        if (rule->does[number] & RULE_FAILS)
            QMPI_Register_tool_function(rule->tool_id, number, interceptors[i].function);
    }
}
