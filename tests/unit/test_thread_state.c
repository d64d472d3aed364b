/* SPDX-License-Identifier: MIT */
/* Tests the levels of threads that end. */
#define _GNU_SOURCE
#include "unit.h"

#include "toolkit/thread_state.h"

#include <limits.h>
#include <pthread.h>

static pthread_key_t key;
static const void *seen[64]; /* the levels that threads have used */
static int seen_count, left_count;

static void left(struct thread_level *level)
{
    (void)level;
    left_count++;
}

static void use_level(void)
{
    struct thread_level *level = thread_level_enter();
    int i = 0;
    assert_non_null(level);
    thread_level_leave(level);
    while (i < seen_count && seen[i] != level)
        i++;
    if (i == seen_count)
        seen[seen_count++] = level;
}

/* A destructor that is called in each round of destructors, after that of the levels. */
static void use_level_late(void *data)
{
    use_level();
    pthread_setspecific(key, data);
}

static void *run_thread(void *data)
{
    use_level();
    pthread_setspecific(key, data);
    return NULL;
}

static void levels_are_reused_if_threads_use_them_in_the_last_round_of_destructors(void **state)
{
    enum { THREADS = 50 };
    (void)state;
    thread_level_start(sizeof(struct thread_level), left);
    assert_int_equal(pthread_key_create(&key, use_level_late), 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, run_thread, &key), 0);
        pthread_join(thread, NULL);
    }
    /* The kernel may know a thread for a short time after it has been joined. */
    assert_true(seen_count < 10);
    assert_true(left_count >= THREADS * PTHREAD_DESTRUCTOR_ITERATIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_are_reused_if_threads_use_them_in_the_last_round_of_destructors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
