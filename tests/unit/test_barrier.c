/* SPDX-License-Identifier: MIT */
/* Tests util/barrier.c: a barrier in all running threads. */
#include "unit.h"

#include "util/barrier.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* Each of two threads stores to a word of its own and then loads the word of the other thread.
 * Unless both threads pass a barrier in between, both may load the old values: all processors that
 * qmpi supports allow this. */
enum { ROUNDS = 100000, DELAYS = 256 };
static _Alignas(64) atomic_int begun;
static _Alignas(64) atomic_int ended;
static _Alignas(64) atomic_int one;
static _Alignas(64) atomic_int other;
static _Alignas(64) int loaded;

static void wait_for(atomic_int *word, int round)
{
    for (int i = 1; atomic_load(word) != round; i++) {
        if (i % 1024 == 0)
            sched_yield();
    }
}

static void *run_without_barrier(void *data)
{
    for (int round = 1; round <= ROUNDS; round++) {
        wait_for(&begun, round);
        atomic_store_explicit(&other, round, memory_order_relaxed);
        atomic_signal_fence(memory_order_seq_cst);
        loaded = atomic_load_explicit(&one, memory_order_relaxed);
        atomic_store(&ended, round);
    }
    return data;
}

static void all_threads_pass_the_barrier(void **state)
{
    pthread_t thread;
    int missed = 0;
    (void)state;
    if (!qmpi_barrier_interrupt_threads())
        skip(); /* the kernel is too old, or a filter forbids the system call */
    assert_int_equal(pthread_create(&thread, NULL, run_without_barrier, NULL), 0);
    for (int round = 1; round <= ROUNDS; round++) {
        atomic_store(&begun, round);
        for (volatile int i = 0; i < round % DELAYS; i++) /* lets the other thread start */
            continue;
        atomic_store_explicit(&one, round, memory_order_relaxed);
        assert_true(qmpi_barrier_interrupt_threads());
        const int seen = atomic_load_explicit(&other, memory_order_relaxed);
        wait_for(&ended, round);
        missed += seen != round && loaded != round;
    }
    pthread_join(thread, NULL);
    assert_int_equal(missed, 0);
}

static void errno_stays(void **state)
{
    (void)state;
    errno = EDOM;
    qmpi_barrier_interrupt_threads();
    assert_int_equal(errno, EDOM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_threads_pass_the_barrier),
                                       cmocka_unit_test(errno_stays)};
    return cmocka_run_group_tests_name("barrier", tests, NULL, NULL);
}
