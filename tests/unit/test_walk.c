/* SPDX-License-Identifier: MIT */
/*
 * Tests sites/walk.c in a process without MPI: on stacks of many kinds, it must find the same
 * addresses as the unwinder of the C library. This file replaces the functions of libqmpi that know
 * modules and layers.
 */
#define _GNU_SOURCE
#include "unit.h"
#include "walk_frames.h"

#include "dispatch/dispatch.h"
#include "redirect/redirect.h"
#include "sites/modules.h"
#include "sites/sites.h"
#include "util/util.h"

#include <qmpi/observer.h>

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

enum { DEEP = 400, STACKS = 300, STACK = 64 << 20 };

/* ---- Replacements of the functions that know modules and layers ------------------------------ */

_Thread_local struct qmpi_dispatch_thread qmpi_dispatch_thread;
atomic_int qmpi_module_closing_count;

static int learned; /* how often the walk looked for a rule that leads to the next frame */

uintptr_t qmpi_module_begin(uintptr_t address)
{
    Dl_info info;
    return dladdr((void *)address, &info) ? (uintptr_t)info.dli_fbase : 0;
}

uintptr_t qmpi_module_unwind_index(uintptr_t address)
{
    (void)address;
    return 0;
}

static enum qmpi_module_code code_at(uintptr_t address)
{
    Dl_info info;
    const bool is_start =
        address - getauxval(AT_ENTRY) < 64 ||
        (dladdr((void *)address, &info) && info.dli_fname && strstr(info.dli_fname, "/libc.so"));
    return is_start ? QMPI_CODE_START : QMPI_CODE_PROGRAM;
}

enum qmpi_module_code qmpi_module_find_code(uintptr_t address, bool *is_permanent)
{
    learned++;
    *is_permanent = true;
    return code_at(address);
}

const char *qmpi_caller_examine_frame(const char *frame, const char *here)
{
    (void)here;
    return frame;
}

void *qmpi_caller_by_unwinding(void)
{
    return NULL;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static int compared, wrong, fell_back, again;

int __real_backtrace(void **addresses, int capacity);
int __wrap_backtrace(void **addresses, int capacity);

/* qmpi_call_stack_unwind calls this if the walk does not know the bounds of the stack. */
int __wrap_backtrace(void **addresses, int capacity)
{
    fell_back++;
    return __real_backtrace(addresses, capacity);
}

/* The return address of the function in which this macro stands. */
#define CALLER() __builtin_extract_return_addr(__builtin_return_address(0))

/* Compares two lists of addresses, each from `caller` upwards. */
static void compare(const char *what, const void *caller, void *const *walked, int count,
                    void *const *unwound, int expected)
{
    compared++;
    for (; count > 0 && *walked != caller; count--)
        walked++;
    for (; expected > 0 && *unwound != caller; expected--)
        unwound++;
    if (count > 0 && count == expected && !memcmp(walked, unwound, (size_t)count * sizeof *walked))
        return;
    if (wrong++)
        return;
    for (int i = 0; i < count || i < expected; i++)
        fprintf(stderr, "# %s %p %p\n", what, i < count ? walked[i] : NULL,
                i < expected ? unwound[i] : NULL);
}

static __attribute__((noinline)) void check_walk(void)
{
    void *walked[DEEP], *unwound[DEEP];
    const int expected = __real_backtrace(unwound, DEEP);
    const int count = qmpi_call_stack_unwind(walked, DEEP);
    compare("walk", CALLER(), walked, count, unwound, expected);
}

/* Compares the callers of a call of MPI that `caller` has made. The last addresses of a stack,
 * which are in the code that calls `main`, are not listed as callers. */
static __attribute__((noinline)) void compare_callers(const QMPIX_Call *call, const void *caller)
{
    void *callers[DEEP], *unwound[DEEP];
    int count = -1, expected = __real_backtrace(unwound, DEEP);
    while (expected > 1 && code_at((uintptr_t)unwound[expected - 1]) == QMPI_CODE_START)
        expected--;
    for (int time = 0; time < 2; time++) {
        const int before = learned;
        if (QMPIX_Call_get_callers(call, DEEP, callers, &count) != MPI_SUCCESS)
            count = -1;
        again += time && learned != before;
        compare("callers", caller, callers, count, unwound, expected);
    }
}

/* Stands for a call of MPI whose entry into the layers is recorded: by this function or, on
 * processors where a C function cannot do this, by the function in walk_enter.S. */
#ifdef QMPI_FRAME_ENTER
static __attribute__((noinline)) void check_callers(void)
{
    QMPI_ENTER();
    const QMPIX_Call call = {.function = NULL};
    compare_callers(&call, CALLER());
}
#else
void check_callers(void); /* in walk_enter.S: calls QMPI_ENTERED(check_callers) */
void QMPI_ENTERED(check_callers)(void);

static __attribute__((noinline)) const void *find_caller_of(const void *address)
{
    void *unwound[DEEP];
    const int count = __real_backtrace(unwound, DEEP);
    int i = 0;
    while (i + 1 < count && unwound[i] != address)
        i++;
    return i + 1 < count ? unwound[i + 1] : NULL;
}

void QMPI_ENTERED(check_callers)(void)
{
    const QMPIX_Call call = {.function = NULL};
    compare_callers(&call, find_caller_of(CALLER()));
}

/* Is never called, because no exception passes the frame. */
_Unwind_Reason_Code qmpi_frame_personality(void) QMPI_HIDDEN;
_Unwind_Reason_Code qmpi_frame_personality(void)
{
    return _URC_FATAL_PHASE1_ERROR;
}
#endif

static void assert_compared(int at_least)
{
    const int were_compared = compared, were_wrong = wrong, have_fallen_back = fell_back,
              were_again = again;
    compared = wrong = fell_back = again = 0; /* also if an assertion fails */
    assert_int_equal(were_wrong, 0);
    assert_int_equal(have_fallen_back, 0);
    assert_true(were_compared >= at_least);
    /* A rule is looked for again if another rule has taken its place in the table. This is rare. */
    assert_true(were_again * 4 < were_compared);
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    walk_frames *run;
} frames[] = {
    {"O0", walk_frames_O0},           {"O2", walk_frames_O2},
    {"fp", walk_frames_fp},           {"nofp", walk_frames_nofp},
#ifdef WALK_SIGNED
    {"signed", walk_frames_signed},
#endif
#ifdef WALK_VECTORS
    {"vectors", walk_frames_vectors},
#endif
};

/* The number of these kinds of frames that this processor can run. */
static size_t frame_count = sizeof frames / sizeof *frames;

static void visit_all(walk_visitor *visit, int count)
{
    for (size_t i = 0; i < frame_count; i++) {
        for (int number = 0; number < count; number++)
            frames[i].run(visit);
    }
}

static void *visit_in_thread(void *data)
{
    (void)data;
    visit_all(check_walk, STACKS);
    visit_all(check_callers, STACKS);
    return NULL;
}

/* Runs `function` in a thread with a large stack. */
static void run_in_thread(void *(*function)(void *))
{
    pthread_t thread;
    pthread_attr_t attributes;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, function, NULL), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

static void stacks_of_all_kinds_are_walked(void **unused)
{
    (void)unused;
    check_walk();
    check_callers();
    assert_compared(3);
    run_in_thread(visit_in_thread);
    assert_compared(3 * STACKS);
}

/* ---- Signals --------------------------------------------------------------------------------- */

static sigjmp_buf faulted;

static void handle_fault(int signal)
{
    (void)signal;
    check_walk();
    check_callers();
    siglongjmp(faulted, 1);
}

static volatile sig_atomic_t is_sampling;

static void handle_timer(int signal)
{
    (void)signal;
    if (is_sampling)
        check_walk();
}

static void handle(int signal, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigemptyset(&action.sa_mask);
    assert_int_equal(sigaction(signal, &action, NULL), 0);
}

static void fault_often(void)
{
    for (volatile size_t i = 0; i < frame_count; i++) {
        for (volatile int number = 0; number < STACKS; number++) {
            if (!sigsetjmp(faulted, 1))
                frames[i].run(NULL);
        }
    }
}

static void *fault_in_thread(void *data)
{
    (void)data;
    fault_often();
    return NULL;
}

static void *fault_on_other_stack(void *data)
{
    static char place[1 << 18];
    const stack_t stack = {.ss_sp = place, .ss_size = sizeof place};
    stack_t before;
    (void)data;
    if (!sigaltstack(&stack, &before)) {
        fault_often();
        sigaltstack(&before, NULL); /* sanitizers have a stack of their own */
    }
    return NULL;
}

static void stacks_of_code_that_a_fault_interrupts_are_walked(void **unused)
{
    (void)unused;
    handle(SIGSEGV, handle_fault, 0);
    run_in_thread(fault_in_thread);
    assert_compared(3 * STACKS);
    handle(SIGSEGV, handle_fault, SA_ONSTACK);
    run_in_thread(fault_on_other_stack);
    assert_compared(3 * STACKS);
    signal(SIGSEGV, SIG_DFL);
}

static void visit_nothing(void)
{
}

/* Lets a timer interrupt functions at any instruction, also at their first and last ones, and in
 * the code of the linker through which functions of libraries are called (PLT). */
static void *be_interrupted(void *data)
{
    enum { SAMPLES = 300, ROUNDS = 2000000 };
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    sigset_t timer;
    (void)data;
    sigemptyset(&timer);
    sigaddset(&timer, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &timer, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    is_sampling = 1;
    for (int round = 0; compared < SAMPLES && round < ROUNDS; round++)
        visit_all(visit_nothing, 1);
    is_sampling = 0;
    setitimer(ITIMER_REAL, &never, NULL);
    return NULL;
}

static void stacks_of_code_that_a_timer_interrupts_are_walked(void **unused)
{
    sigset_t timer;
    (void)unused;
    sigemptyset(&timer);
    sigaddset(&timer, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &timer, NULL);
    handle(SIGALRM, handle_timer, 0);
    run_in_thread(be_interrupted);
    assert_compared(1);
    signal(SIGALRM, SIG_DFL);
}

/* ---- Other stacks ---------------------------------------------------------------------------- */

static ucontext_t outside, inside;

static void run_coroutine(void)
{
    visit_all(check_walk, STACKS);
}

static void stacks_of_coroutines_are_walked(void **unused)
{
    (void)unused;
    void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(stack, MAP_FAILED);
    getcontext(&inside);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = STACK;
    inside.uc_link = &outside;
    makecontext(&inside, run_coroutine, 0);
    swapcontext(&outside, &inside);
    assert_compared(3 * STACKS);
    munmap(stack, STACK);
}

int main(void)
{
    void *frame;
    __real_backtrace(&frame, 1); /* the first call loads the unwinder */
#ifdef WALK_VECTORS
    frame_count -= !(getauxval(AT_HWCAP) & HWCAP_SVE); /* the last one needs scalable vectors */
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stacks_of_all_kinds_are_walked),
        cmocka_unit_test(stacks_of_code_that_a_fault_interrupts_are_walked),
        cmocka_unit_test(stacks_of_code_that_a_timer_interrupts_are_walked),
        cmocka_unit_test(stacks_of_coroutines_are_walked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
