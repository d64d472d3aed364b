/* SPDX-License-Identifier: MIT */
/* See program.h: scenarios with threads. Their list of tools is alpha:beta; that of
 * scenario_run_time is alpha:bare:alpha. */
#define _GNU_SOURCE
#include "program.h"
#include "report.h"
#include "tools.h"
#include <pthread.h>

SITE(site_in_thread)
{
    int size;
    MPI_Type_size(MPI_INT, &size);
    __asm__ volatile("");
}

SITE(site_barrier)
{
    MPI_Barrier(MPI_COMM_WORLD);
    __asm__ volatile("");
}

enum { THREADS = 8, CALLS = 200 };
static Next asked_in_thread[THREADS];
static int wrong_in_thread[THREADS];
static long ids_of_threads[THREADS];

static void *type_sizes(void *argument)
{
    int number = (int)(size_t)argument, size;
    ids_of_threads[number] = this_thread();
    for (int i = 0; i < CALLS; i++) {
        Next next = {0};
        site_in_thread();
        MPI_Type_size(MPI_DOUBLE, &size);
        wrong_in_thread[number] += size != (int)sizeof(double);
        draft_get_function(1, MPI_TYPE_SIZE_T, &next);
        if (i && !draft_same(&next, &asked_in_thread[number]))
            wrong_in_thread[number]++;
        asked_in_thread[number] = next;
    }
    return NULL;
}

void scenario_threads(int addresses)
{
    static const char *const names[] = {"thread.once_each", "thread.storage", "thread.same_thread",
                                        "thread.next", "thread.order"};
    pthread_t threads[THREADS];
    int provided, outside = 0, stored = 0, foreign = 0, wrong = 0, unordered = 0;
    MPI_Init_thread(&program_argc, &program_argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        if (addresses)
            report_skip("thread.address", "this MPI library has no MPI_THREAD_MULTIPLE");
        for (size_t i = 0; !addresses && i < sizeof names / sizeof *names; i++)
            report_skip(names[i], "this MPI library has no MPI_THREAD_MULTIPLE");
        MPI_Finalize();
        return;
    }
    ask_addresses = addresses;
    forget_events();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, type_sizes, (void *)(size_t)i);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wrong += wrong_in_thread[i];
    }
    if (!addresses)
        report("thread.once_each",
               entered(1, MPI_TYPE_SIZE_T) == THREADS * CALLS * 2 &&
                   entered(2, MPI_TYPE_SIZE_T) == THREADS * CALLS * 2,
               "%d and %d calls", entered(1, MPI_TYPE_SIZE_T), entered(2, MPI_TYPE_SIZE_T));
    for (int thread = 0; thread < THREADS; thread++) {
        int expected = 1; /* the layer that this thread must enter next */
        for (int i = 0; i < event_count(); i++) {
            if (events[i].thread != ids_of_threads[thread] || events[i].leaving)
                continue;
            unordered += events[i].id != expected;
            expected = 3 - expected;
        }
    }
    for (int i = 0; i < event_count(); i++) {
        int known = 0;
        for (int thread = 0; thread < THREADS; thread++)
            known += events[i].thread == ids_of_threads[thread];
        foreign += !known;
        if (events[i].leaving)
            continue;
        stored += events[i].storage != &storages[events[i].id];
        outside += !program_is_same_object(events[i].address, __start_in_site_in_thread);
    }
    if (addresses) {
        report("thread.address", !outside, "%d wrong", outside);
        MPI_Finalize();
        return;
    }
    report("thread.storage", !stored, "%d wrong", stored);
    report("thread.same_thread", !foreign, "%d in another thread", foreign);
    report("thread.next", !wrong, "%d wrong", wrong);
    report("thread.order", !unordered, "%d wrong", unordered);
    MPI_Finalize();
}

static int late_Type_size(SELF, MPI_Datatype type, int *size)
{
    Next next = {0};
    draft_get_function(SELF_ID(), MPI_TYPE_SIZE_T, &next);
    return NEXT_CALL(next, Type_size)(NEXT_ARGUMENTS(next), type, size);
}

static int later_Type_size(SELF, MPI_Datatype type, int *size)
{
    Next next = {0};
    draft_get_function(SELF_ID(), MPI_TYPE_SIZE_T, &next);
    return NEXT_CALL(next, Type_size)(NEXT_ARGUMENTS(next), type, size);
}

static void *only_type_sizes(void *wrong)
{
    for (int i = 0; i < CALLS; i++) {
        int size = 0;
        MPI_Type_size(MPI_DOUBLE, &size);
        *(int *)wrong += size != (int)sizeof(double);
    }
    return NULL;
}

void scenario_run_time(void)
{
    pthread_t threads[THREADS];
    int provided, refused = 0, wrong = 0;
    MPI_Init_thread(&program_argc, &program_argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        report_skip("thread.registration", "this MPI library has no MPI_THREAD_MULTIPLE");
        MPI_Finalize();
        return;
    }
    forget_events();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, only_type_sizes, &wrong_in_thread[i]);
    for (int i = 0; i < 50; i++) {
        void (*function)(void) =
            i % 2 ? (void (*)(void))late_Type_size : (void (*)(void))later_Type_size;
        refused += draft_register_tool_function(2, MPI_TYPE_SIZE_T, function) != MPI_SUCCESS;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        wrong += wrong_in_thread[i];
    }
    report("thread.registration",
           !refused && !wrong && entered(1, MPI_TYPE_SIZE_T) == THREADS * CALLS &&
               entered(3, MPI_TYPE_SIZE_T) == THREADS * CALLS,
           "%d are refused, %d sizes are wrong, %d and %d calls", refused, wrong,
           entered(1, MPI_TYPE_SIZE_T), entered(3, MPI_TYPE_SIZE_T));
    MPI_Finalize();
}

static void *start_in_thread(void *unused)
{
    int provided;
    MPI_Init_thread(&program_argc, &program_argv, MPI_THREAD_MULTIPLE, &provided);
    report("thread.first_call", init_count == 2 && inits[0].thread == this_thread(),
           "%d calls of init", init_count);
    return unused;
}

void scenario_first_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, start_in_thread, NULL);
    pthread_join(thread, NULL);
    forget_events();
    site_barrier();
    report("thread.after_first_call", program_passed_in_order(MPI_BARRIER_T, 2), "%d events",
           event_count());
    MPI_Finalize();
}
