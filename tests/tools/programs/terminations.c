/* SPDX-License-Identifier: MIT */
/*
 * Carries out the steps on its command line in their order. They make calls, and end the process in
 * ways that may cause the loss of buffered lines of a log.
 *
 *     terminations STEP...
 *
 * The step calls=N also prints the number of calls. An unknown step ends the program with
 * status 99.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void report(const char *what, long count)
{
    printf("%s %ld\n", what, count);
    fflush(stdout);
}

/* The tag identifies the call. */
static void call(int number)
{
    int flag;
    MPI_Iprobe(MPI_PROC_NULL, number, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void make_calls(int count)
{
    static int made;
    for (int i = 0; i < count; i++)
        call(++made);
    report("calls", count);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static atomic_int turn;

/* Two threads make calls in turn. */
static void *take_turns(void *data)
{
    const int mine = data != NULL;
    for (int i = 0; i < 2000; i++) {
        while (atomic_load(&turn) % 2 != mine)
            continue;
        call(10000 + atomic_load(&turn));
        atomic_fetch_add(&turn, 1);
    }
    return NULL;
}

static void wait_ms(int ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

static void use_turns(void)
{
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, take_turns, i ? &turn : NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

/* ---- Processes ------------------------------------------------------------------------------- */

/* Parent and child make calls at the same time. */
static void fork_child(int count)
{
    const pid_t child = fork();
    make_calls(count);
    if (child == 0)
        exit(0);
    waitpid(child, NULL, 0);
}

static void *call_in_thread(void *data)
{
    call(1);
    return data;
}

/* The process is forked while a thread opens the file for its first line. */
static void fork_while_opening(void)
{
    pthread_t thread;
    int status = -1;
    pthread_create(&thread, NULL, call_in_thread, NULL);
    wait_ms(300);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20); /* kills a process that hangs */
        call(2);
        _exit(0);
    }
    fclose(fopen("forked", "w"));
    waitpid(child, &status, 0);
    pthread_join(thread, NULL);
    report("child", status);
}

/* Makes a call whose line is longer than a buffer. */
static void make_long_call(int count)
{
    int *numbers = calloc((size_t)count, sizeof *numbers);
    MPI_Datatype type;
    MPI_Type_indexed(count, numbers, numbers, MPI_INT, &type);
    MPI_Type_free(&type);
    free(numbers);
}

static void run_program(void)
{
    execl("/bin/true", "true", (char *)NULL);
}

/* Prints the number of lines in the file lines.0. */
static void count_lines(void)
{
    FILE *file = fopen("lines.0", "r");
    long count = 0;
    for (int c; file && (c = fgetc(file)) != EOF;)
        count += c == '\n';
    if (file)
        fclose(file);
    report("lines", count);
}

static int take(const char *step, int value)
{
    if (!strcmp(step, "calls"))
        make_calls(value);
    else if (!strcmp(step, "turns"))
        use_turns();
    else if (!strcmp(step, "long"))
        make_long_call(value);
    else if (!strcmp(step, "fork"))
        fork_child(value);
    else if (!strcmp(step, "opening"))
        fork_while_opening();
    else if (!strcmp(step, "wait"))
        wait_ms(value);
    else if (!strcmp(step, "raise"))
        raise(value);
    else if (!strcmp(step, "lines"))
        count_lines();
    else if (!strcmp(step, "exec"))
        run_program();
    else if (!strcmp(step, "exit"))
        exit(0);
    else if (!strcmp(step, "_exit"))
        _exit(0);
    else if (!strcmp(step, "quick_exit"))
        quick_exit(0);
    else if (!strcmp(step, "fatal"))
        MPI_Send(&value, 1, MPI_INT, 1 << 20, 0, MPI_COMM_WORLD);
    else if (!strcmp(step, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 3);
    else if (!strcmp(step, "finalize"))
        MPI_Finalize();
    else
        return 0;
    return 1;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (value)
            *value++ = '\0';
        if (!take(argv[i], value ? atoi(value) : 0))
            return 99;
    }
    return 0;
}
