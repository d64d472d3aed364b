/* SPDX-License-Identifier: MIT */
/* Tests util/call_stack.c: work that runs on a new stack in the same thread. */
#define _GNU_SOURCE
#include "unit.h"

#include "util/call_stack.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

enum { SMALL = 256 << 10, MUCH = 400 << 10, FRAMES = 64 };

/* What the work has found. */
static struct {
    pthread_t thread;
    bool is_near; /* the caller's frame is on the same stack */
    bool finds_caller;
    int handled;
} found;

static const char *frame_of_caller;
static const void *address_of_caller;

static void use_stack(void)
{
    volatile char used[MUCH];
    used[0] = used[MUCH - 1] = 1;
}

__attribute__((noinline)) static void work(void *data)
{
    void *frames[FRAMES];
    const char *here = __builtin_frame_address(0);
    const int count = qmpi_call_stack_unwind(frames, FRAMES);
    use_stack();
    found.thread = pthread_self();
    found.is_near = here < frame_of_caller && frame_of_caller - here < SMALL;
    for (int i = 0; i < count; i++)
        found.finds_caller |= frames[i] == address_of_caller;
    if (data)
        raise(SIGUSR2);
}

__attribute__((noinline)) static void run_work(void *data)
{
    found.finds_caller = false;
    frame_of_caller = __builtin_frame_address(0);
    address_of_caller = __builtin_return_address(0);
    qmpi_call_stack_run_here(work, data);
    __asm__ volatile(""); /* the call is not the last thing, so that this frame remains */
}

static void *run_in_thread(void *data)
{
    run_work(NULL);
    return data;
}

static void a_large_stack_is_kept(void **state)
{
    (void)state;
    run_work(NULL);
    assert_true(found.is_near);
    assert_true(found.finds_caller);
}

static void a_thread_with_a_small_stack_runs_work_on_a_new_one(void **state)
{
    pthread_t thread;
    pthread_attr_t attributes;
    (void)state;
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run_in_thread, NULL), 0);
    pthread_join(thread, NULL);
    assert_true(pthread_equal(found.thread, thread));
    assert_false(found.is_near);
    assert_true(found.finds_caller);
}

/* ---- Signal stacks --------------------------------------------------------------------------- */

static stack_t after;
static bool overwritten;

/* Uses the signal stack, or the stack that was interrupted. */
static void handle_inner(int number)
{
    volatile char used[1024];
    (void)number;
    for (size_t i = 0; i < sizeof used; i++)
        used[i] = 1;
    found.handled++;
}

static void handle_outer(int number)
{
    volatile char mine[1024];
    for (size_t i = 0; i < sizeof mine; i++)
        mine[i] = 2;
    run_work(&number);
    for (size_t i = 0; i < sizeof mine; i++)
        overwritten |= mine[i] != 2;
    sigaltstack(NULL, &after);
}

/* The kernel would let the inner handler overwrite the frames of the outer one, which runs on the
 * signal stack, because the work has left this stack. */
static void a_handler_on_a_signal_stack_keeps_its_frames(void **state)
{
    const struct sigaction outer = {.sa_handler = handle_outer, .sa_flags = SA_ONSTACK};
    const struct sigaction inner = {.sa_handler = handle_inner, .sa_flags = SA_ONSTACK};
    const stack_t stack = {.ss_sp = malloc(SMALL), .ss_size = SMALL},
                  none = {.ss_flags = SS_DISABLE};
    sigset_t blocked;
    (void)state;
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    assert_int_equal(sigaction(SIGUSR1, &outer, NULL), 0);
    assert_int_equal(sigaction(SIGUSR2, &inner, NULL), 0);
    raise(SIGUSR1);
    assert_int_equal(found.handled, 1);
    assert_false(found.is_near);
    assert_true(found.finds_caller);
    assert_false(overwritten);
    assert_ptr_equal(after.ss_sp, stack.ss_sp);
    assert_true(after.ss_flags & SS_ONSTACK);
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    assert_false(sigismember(&blocked, SIGUSR2));
    assert_int_equal(sigaltstack(&none, NULL), 0);
    free(stack.ss_sp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_large_stack_is_kept),
        cmocka_unit_test(a_thread_with_a_small_stack_runs_work_on_a_new_one),
        cmocka_unit_test(a_handler_on_a_signal_stack_keeps_its_frames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
