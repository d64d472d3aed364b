/* SPDX-License-Identifier: MIT */
/* See fault.h. */
#include "fault.h"

#include "error_object.h"
#include "util/util.h"

#include <qmpi/wrappers.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool fault_is_used;

/* From the observer's `before` to the interceptor that follows it in the same thread. */
struct fault {
    struct rule *rule; /* NULL: the call goes on */
    const QMPIX_Function *function;
    uint64_t n; /* its n-th call */
    struct error_object error_object;
    const QMPIX_Call *call; /* on the stack until the call is over */
};
static _Thread_local struct fault armed;

/* Those of the calls that signal handlers' calls interrupted; deeper ones are not made to fail. */
enum { DEEPEST = 8 };
static _Thread_local struct aside {
    const QMPIX_Call *by;
    struct fault fault;
} asides[DEEPEST];
static _Thread_local int aside_count;

/* Where on the stack the handler was called from. A handler may leave by longjmp or by a C++
 * exception: what lies above it on the stack is not in it. */
static _Thread_local const char *handler;

void fault_arm(struct rule *rule, const QMPIX_Call *call, uint64_t n)
{
    armed = (struct fault){rule, call->function, n, error_object_of(call), call};
}

/* A handler may have left by longjmp: then the call is over, and what lies above it on the stack is
 * not in it. */
static bool is_over(const QMPIX_Call *call)
{
    return (const char *)call <= (const char *)__builtin_frame_address(0);
}

void fault_enter(const QMPIX_Call *call)
{
    while (aside_count && is_over(asides[aside_count - 1].by))
        aside_count--;
    if (!armed.rule)
        return;
    if (!is_over(armed.call) && aside_count < DEEPEST)
        asides[aside_count++] = (struct aside){call, armed};
    armed.rule = NULL;
}

void fault_leave(const QMPIX_Call *call)
{
    while (aside_count && is_over(asides[aside_count - 1].by))
        aside_count--;
    if (aside_count && asides[aside_count - 1].by == call)
        armed = asides[--aside_count].fault;
}

bool fault_is_handled(void)
{
    if (handler && (const char *)__builtin_frame_address(0) >= handler)
        handler = NULL;
    return handler != NULL;
}

static struct fault take(void)
{
    const struct fault mine = armed;
    armed.rule = NULL;
    return mine;
}

/* MPI will say what ends the job, but not that it was us. */
static void say_last(const struct fault *fault)
{
    const struct rule *rule = fault->rule;
    qmpi_printf("delay (layer %d): rank %d: call %llu of %s reports an error, and the error "
                "handler ends the job",
                rule->tool_id, rule->rank, (unsigned long long)fault->n,
                rule->count_each ? fault->function->name : "the selected functions");
}

/* Reports the error as MPI does: the handler first, then the result, if it returns. */
static int report(const struct fault *fault, int code)
{
    __atomic_add_fetch(&fault->rule->failed, 1, __ATOMIC_RELAXED);
    if (error_object_is_fatal(&fault->error_object))
        say_last(fault);
    handler = __builtin_frame_address(0);
    const int result = error_object_invoke(&fault->error_object, code);
    handler = NULL;
    return result;
}

/* Functions with a result other than int cannot fail, and never reach this code. */
static bool has_failed(const void *result, size_t size)
{
    int code = MPI_SUCCESS;
    if (size == sizeof code)
        memcpy(&code, result, sizeof code);
    return code != MPI_SUCCESS;
}

/* The result is what the call gave, or 0, which is MPI_SUCCESS, where it was not carried out. */
static void fail(const struct fault *fault, void *result, size_t size)
{
    if (has_failed(result, size))
        return;
    const int code = report(fault, fault->rule->error);
    if (size == sizeof code)
        memcpy(result, &code, sizeof code);
}

/* Takes the fault of this call. Whether the call is carried out. */
__attribute__((noinline)) static bool is_carried_out(struct fault *fault)
{
    *fault = take();
    return !fault->rule || fault->rule->carry_out;
}

/* There are hundreds of these: what they have in common stands above, and what is left is too
 * little for a sanitizer to find fault with, which would take the compiler minutes. */
#define WRAP(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                             \
    __attribute__((no_sanitize("address,undefined"))) static RESULT fail_##X PARAMETERS            \
    {                                                                                              \
        struct fault delay_fault;                                                                  \
        RESULT delay_result = 0;                                                                   \
        if (is_carried_out(&delay_fault))                                                          \
            delay_result = QMPIX_NEXT(context, X) ARGUMENTS;                                       \
        if (delay_fault.rule)                                                                      \
            fail(&delay_fault, &delay_result, sizeof delay_result);                                \
        return delay_result;                                                                       \
    }
QMPIX_FOR_EACH_FUNCTION(WRAP)

/* ---- Completion of several requests -------------------------------------------------------------
 *
 * One request has failed, the first: the call gives MPI_ERR_IN_STATUS, and the statuses say the
 * rest: the others are pending, or with carry-out=yes complete. MPICH raises that error where it
 * raises those of calls without a handle; Open MPI the request's own, where that was made.
 */
/* Where the errors of requests are raised, asked before they are complete and gone. */
static struct error_object *error_objects_of(const struct fault *fault, int count,
                                             const MPI_Request requests[])
{
    if (!error_object_as_open_mpi || !fault->rule || count <= 0 || !requests)
        return NULL;
    struct error_object *objects = malloc((size_t)count * sizeof *objects);
    for (int i = 0; objects && i < count; i++)
        objects[i] = error_object_of_request(requests[i]);
    return objects;
}

static void take_error_object(struct fault *fault, struct error_object *objects, int i)
{
    if (objects && i >= 0)
        fault->error_object = objects[i];
    free(objects);
}

static int first_of(int count, const MPI_Request requests[])
{
    for (int i = 0; requests && i < count; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            return i;
    }
    return -1;
}

/* If all requests are null, the error belongs to the call itself. */
static int blame(const struct fault *fault, int at, int count, MPI_Status statuses[])
{
    if (at < 0)
        return report(fault, fault->rule->error);
    for (int i = 0; statuses != MPI_STATUSES_IGNORE && i < count; i++)
        statuses[i].MPI_ERROR = fault->rule->carry_out ? MPI_SUCCESS : MPI_ERR_PENDING;
    if (statuses != MPI_STATUSES_IGNORE)
        statuses[at].MPI_ERROR = fault->rule->error;
    const int result =
        report(fault, error_object_as_open_mpi ? fault->rule->error : MPI_ERR_IN_STATUS);
    return result == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_IN_STATUS;
}

static int fail_all(QMPI_Context context, int count, MPI_Request requests[], MPI_Status statuses[])
{
    struct fault fault = take();
    const int at = first_of(count, requests);
    int result = MPI_SUCCESS;
    take_error_object(&fault, error_objects_of(&fault, count, requests), at);
    if (!fault.rule || fault.rule->carry_out)
        result =
            QMPIX_NEXT(context, Waitall)(QMPIX_NEXT_CONTEXT(context), count, requests, statuses);
    return !fault.rule || result != MPI_SUCCESS ? result : blame(&fault, at, count, statuses);
}

static int fail_test_all(QMPI_Context context, int count, MPI_Request requests[], int *flag,
                         MPI_Status statuses[])
{
    struct fault fault = take();
    const int at = first_of(count, requests);
    take_error_object(&fault, error_objects_of(&fault, count, requests), at);
    if (!fault.rule || fault.rule->carry_out) {
        const int result = QMPIX_NEXT(context, Testall)(QMPIX_NEXT_CONTEXT(context), count,
                                                        requests, flag, statuses);
        if (!fault.rule || result != MPI_SUCCESS || !*flag)
            return result; /* nothing is complete that could have failed */
    } else if (flag) {
        *flag = 0;
    }
    return blame(&fault, at, count, statuses);
}

/* MPI_Waitsome and MPI_Testsome: the first that is reported has failed. */
static int fail_some(QMPI_Waitsome_t *next, QMPI_Context context, int count, MPI_Request requests[],
                     int *outcount, int indices[], MPI_Status statuses[])
{
    struct fault fault = take();
    struct error_object *objects = error_objects_of(&fault, count, requests);
    if (!fault.rule || fault.rule->carry_out) {
        const int result = next(context, count, requests, outcount, indices, statuses);
        const bool some = result == MPI_SUCCESS && *outcount != MPI_UNDEFINED && *outcount > 0;
        take_error_object(&fault, objects, some ? indices[0] : -1);
        return !fault.rule || !some ? result : blame(&fault, 0, *outcount, statuses);
    }
    const int at = first_of(count, requests);
    take_error_object(&fault, objects, at);
    if (at >= 0 && outcount && indices) {
        *outcount = 1;
        indices[0] = at;
    }
    return blame(&fault, at < 0 ? -1 : 0, 1, statuses);
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

/* MPI_Waitany and MPI_Testany: the one that is reported, else the first. Nothing but the handler
 * tells them from functions of one request. */
static int fail_wait_any(QMPI_Context context, int count, MPI_Request requests[], int *index,
                         MPI_Status *status)
{
    struct fault fault = take();
    struct error_object *objects = error_objects_of(&fault, count, requests);
    int at = first_of(count, requests), result = MPI_SUCCESS;
    if (!fault.rule || fault.rule->carry_out) {
        result = QMPIX_NEXT(context, Waitany)(QMPIX_NEXT_CONTEXT(context), count, requests, index,
                                              status);
        if (fault.rule && result == MPI_SUCCESS && *index != MPI_UNDEFINED)
            at = *index;
    }
    take_error_object(&fault, objects, at);
    return !fault.rule || result != MPI_SUCCESS ? result : report(&fault, fault.rule->error);
}

static int fail_test_any(QMPI_Context context, int count, MPI_Request requests[], int *index,
                         int *flag, MPI_Status *status)
{
    struct fault fault = take();
    struct error_object *objects = error_objects_of(&fault, count, requests);
    int at = first_of(count, requests), result = MPI_SUCCESS;
    if (!fault.rule || fault.rule->carry_out) {
        result = QMPIX_NEXT(context, Testany)(QMPIX_NEXT_CONTEXT(context), count, requests, index,
                                              flag, status);
        if (fault.rule && result == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED)
            at = *index;
    }
    take_error_object(&fault, objects, at);
    return !fault.rule || result != MPI_SUCCESS ? result : report(&fault, fault.rule->error);
}

/* ---- Joining the stack ----------------------------------------------------------------------- */

/* A table: as statements the compiler would take minutes for so many, with sanitizers. */
#define LIST(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS) {NUMBER, (void (*)(void))fail_##X},

/* Later ones hold. */
static const struct {
    enum QMPI_Functions_enum number;
    void (*function)(void);
} failing[] = {
    QMPIX_FOR_EACH_FUNCTION(LIST) /* all of them, and those that complete several requests: */
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
    error_object_ask();
    for (size_t i = 0; i < sizeof failing / sizeof *failing; i++) {
        const enum QMPI_Functions_enum number = failing[i].number;
        if (rule->does[number] & RULE_FAILS)
            QMPI_Register_tool_function(rule->tool_id, number, failing[i].function);
    }
}
