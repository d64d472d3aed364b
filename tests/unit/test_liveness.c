/* SPDX-License-Identifier: MIT */
/* Tests how a process finds out that another process of its host has terminated. */
#define _GNU_SOURCE
#include "job/liveness.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct qmpi_liveness_process self;

static void *wait_for_signal(void *unused)
{
    pause();
    return unused;
}

/* In the child, ends the first thread, and lets another one continue. */
static void continue_in_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_signal, NULL);
    pthread_exit(NULL);
}

/* Creates a child that waits for a signal, and returns its identification. */
static struct qmpi_liveness_process create_child(bool in_thread)
{
    struct qmpi_liveness_process child;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const pid_t id = fork();
    assert_true(id >= 0);
    if (!id) {
        child = qmpi_liveness_self();
        if (write(ends[1], &child, sizeof child) != sizeof child)
            _exit(1);
        if (in_thread)
            continue_in_thread();
        pause();
        _exit(0);
    }
    assert_int_equal(read(ends[0], &child, sizeof child), sizeof child);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(child.id, id);
    return child;
}

static void end_child(const struct qmpi_liveness_process *child)
{
    siginfo_t info;
    kill((pid_t)child->id, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)child->id, &info, WEXITED | WNOWAIT), 0);
}

static void test_a_process_that_runs_has_not_ended(void **state)
{
    (void)state;
    const struct qmpi_liveness_process child = create_child(false);
    assert_false(qmpi_liveness_has_ended(&self, &self));
    assert_false(qmpi_liveness_has_ended(&self, &child));
    end_child(&child);
    waitpid((pid_t)child.id, NULL, 0);
}

static void test_a_process_has_ended_even_if_its_parent_does_not_wait_for_it(void **state)
{
    (void)state;
    const struct qmpi_liveness_process child = create_child(false);
    end_child(&child);
    assert_true(qmpi_liveness_has_ended(&self, &child));
    waitpid((pid_t)child.id, NULL, 0);
    assert_true(qmpi_liveness_has_ended(&self, &child));
}

static void test_a_process_whose_first_thread_has_ended_runs(void **state)
{
    (void)state;
    const struct qmpi_liveness_process child = create_child(true);
    assert_false(qmpi_liveness_has_ended(&self, &child));
    end_child(&child);
    assert_true(qmpi_liveness_has_ended(&self, &child));
    waitpid((pid_t)child.id, NULL, 0);
}

static void test_a_process_id_that_is_used_again_is_another_process(void **state)
{
    (void)state;
    struct qmpi_liveness_process earlier = self;
    earlier.start--;
    assert_true(qmpi_liveness_has_ended(&self, &earlier));
}

/* After a restart from a checkpoint, the process itself has another start. */
static void test_starts_that_are_others_for_all_processes_say_nothing(void **state)
{
    (void)state;
    struct qmpi_liveness_process restored = self, other = self;
    restored.start--;
    other.start -= 2;
    assert_false(qmpi_liveness_has_ended(&restored, &other));
}

static void test_nothing_is_known_of_processes_of_other_hosts(void **state)
{
    (void)state;
    struct qmpi_liveness_process child = create_child(false), nowhere = self;
    end_child(&child);
    waitpid((pid_t)child.id, NULL, 0);
    child.host++;
    assert_false(qmpi_liveness_has_ended(&self, &child));
    child.host = nowhere.host = 0;
    assert_false(qmpi_liveness_has_ended(&nowhere, &child));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_that_runs_has_not_ended),
        cmocka_unit_test(test_a_process_has_ended_even_if_its_parent_does_not_wait_for_it),
        cmocka_unit_test(test_a_process_whose_first_thread_has_ended_runs),
        cmocka_unit_test(test_a_process_id_that_is_used_again_is_another_process),
        cmocka_unit_test(test_starts_that_are_others_for_all_processes_say_nothing),
        cmocka_unit_test(test_nothing_is_known_of_processes_of_other_hosts),
    };
    self = qmpi_liveness_self();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
