/* SPDX-License-Identifier: MIT */
/*
 * More steps of `steps`:
 * - dup, dup_self, drop: create a communicator and free it.
 * - name=NAME, use: give this communicator a name, and call MPI_Barrier on it.
 * - open=FILE, write, close: open a file, write to it, and close it.
 * - on=TOOL, off=TOOL: switch the layer of a tool through MPI_T.
 * - session_...: steps with MPI Sessions.
 * - jump: leaves a call by a jump.
 * - await=FILE: waits until the file exists, at most a minute.
 * - await_pid=BEGIN: waits for the file whose name is BEGIN followed by the process ID.
 * - make=FILE: creates a file, for which another process may wait.
 * - clock=NAME: prints the time on the clock that all processes of a node share.
 * - in_dup=STEP: carries out a step in a callback of MPI_Comm_dup.
 * - in_two_dups=STEP: carries out a step in such a callback within another one.
 * - in_finalize=STEP: arranges that MPI_Finalize carries out a step in a callback.
 * - receive, receive_in_thread: receive a message that nobody sends.
 * - types: sends itself messages of several datatypes from one call site. If MPI reuses handles,
 *   each derived type has the handle of the previous one.
 * - odd_names: uses names that are not UTF-8.
 * - touch=N: uses N MiB of memory for a short time.
 * - locale: sets the locale that the environment specifies.
 */
#define _GNU_SOURCE
#include "steps.h"

#include <locale.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static MPI_Comm comm;
static MPI_File file;

static void expect(int result)
{
    if (result == MPI_SUCCESS)
        return;
    fprintf(stderr, "steps: a call failed: %d\n", result);
    exit(98);
}

/* ---- Switching ------------------------------------------------------------------------------- */

static void switch_tool(const char *tool, int enabled)
{
    char name[64];
    int provided, index, count;
    MPI_T_cvar_handle handle;
    snprintf(name, sizeof name, "qmpi.%s.enabled", tool);
    expect(PMPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    expect(MPI_T_cvar_get_index(name, &index));
    expect(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    expect(MPI_T_cvar_write(handle, &enabled));
    expect(MPI_T_cvar_handle_free(&handle));
    expect(PMPI_T_finalize());
}

/* ---- Sessions -------------------------------------------------------------------------------- */

#ifdef MPI_SESSION_NULL
static MPI_Session sessions[3];
static MPI_Comm of_session;

static void open_session(int number)
{
    expect(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &sessions[number]));
}

static void make_comm(int number)
{
    MPI_Group group;
    expect(MPI_Group_from_session_pset(sessions[number], "mpi://WORLD", &group));
    expect(
        MPI_Comm_create_from_group(group, "steps", MPI_INFO_NULL, MPI_ERRORS_RETURN, &of_session));
    expect(MPI_Group_free(&group));
}

static int error_count;

static void count_error(MPI_Comm *failed, int *code, ...)
{
    (void)failed;
    (void)code;
    error_count++;
}

/* Uses up the numbers that MPI has for communicators, except for the last one. Then creates a
 * communicator of all processes, with an error handler that counts errors, and prints how many
 * errors this creation has raised. */
static void make_last_comm(int number)
{
    enum { MOST = 100000 };
    static MPI_Comm all[MOST];
    MPI_Group group;
    MPI_Errhandler handler;
    int count = 0, result = MPI_ERR_OTHER;
    while (count < MOST && MPI_Comm_dup(of_session, &all[count]) == MPI_SUCCESS)
        count++;
    expect(MPI_Comm_create_errhandler(count_error, &handler));
    expect(MPI_Group_from_session_pset(sessions[number], "mpi://WORLD", &group));
    while (count && result != MPI_SUCCESS) {
        expect(MPI_Comm_free(&all[--count]));
        error_count = 0;
        result = MPI_Comm_create_from_group(group, "last", MPI_INFO_NULL, handler, &all[count]);
    }
    expect(result);
    printf("raised %d\n", error_count);
    fflush(stdout);
    expect(MPI_Group_free(&group));
    expect(MPI_Errhandler_free(&handler));
    while (count >= 0)
        expect(MPI_Comm_free(&all[count--]));
}

static int session_step(const char *step, const char *value)
{
    const int number = *value ? atoi(value) : 0;
    if (!strcmp(step, "session_init"))
        open_session(number);
    else if (!strcmp(step, "session_finalize"))
        expect(MPI_Session_finalize(&sessions[number]));
    else if (!strcmp(step, "session_comm"))
        make_comm(number);
    else if (!strcmp(step, "session_last_comm"))
        make_last_comm(number);
    else if (!strcmp(step, "session_barrier"))
        expect(MPI_Barrier(of_session));
    else if (!strcmp(step, "session_free"))
        expect(MPI_Comm_free(&of_session));
    else if (!strcmp(step, "session_disconnect"))
        expect(MPI_Comm_disconnect(&of_session));
    else
        return 0;
    return 1;
}
#else
static int session_step(const char *step, const char *value)
{
    (void)step;
    (void)value;
    return 0;
}
#endif

/* ---- Jumps ----------------------------------------------------------------------------------- */

static jmp_buf before_the_error;

static void jump_out(MPI_Comm *on, int *error, ...)
{
    (void)on;
    (void)error;
    longjmp(before_the_error, 1);
}

/* Calls from a deeper position on the stack than the call that was left, whose frame is thus
 * overwritten. */
static void call_from_deeper(void)
{
    volatile char room[65536];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    room[0] = 2;
}

static void jump(void)
{
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(jump_out, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    if (!setjmp(before_the_error))
        MPI_Send(NULL, 0, MPI_BYTE, 99, 0, MPI_COMM_SELF);
    call_from_deeper();
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
}

/* ---- Within a call --------------------------------------------------------------------------- */

static void dup_doing(int depth, const char *step);

/* A copy callback, which MPI_Comm_dup calls. Carries out the step `value`, or has dup_doing do so
 * in another MPI_Comm_dup if the depth, at `state`, is more than 1. */
static int copy_doing(MPI_Comm of, int keyval, void *state, void *value, void *copy, int *flag)
{
    (void)of;
    (void)keyval;
    (void)copy;
    *flag = 0;
    if (*(int *)state > 1)
        dup_doing(*(int *)state - 1, value);
    else
        run_step(value);
    return MPI_SUCCESS;
}

static void dup_doing(int depth, const char *step)
{
    int keyval;
    MPI_Comm original, copy;
    expect(PMPI_Comm_dup(MPI_COMM_SELF, &original));
    expect(PMPI_Comm_create_keyval(copy_doing, MPI_COMM_NULL_DELETE_FN, &keyval, &depth));
    expect(PMPI_Comm_set_attr(original, keyval, (void *)(uintptr_t)step));
    expect(MPI_Comm_dup(original, &copy));
}

static int delete_doing(MPI_Comm of, int keyval, void *value, void *state)
{
    (void)of;
    (void)keyval;
    (void)state;
    run_step(value);
    free(value);
    return MPI_SUCCESS;
}

static void finalize_doing(const char *step)
{
    int keyval;
    expect(PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_doing, &keyval, NULL));
    expect(PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, strdup(step)));
}

static void *receive_for_ever(void *nothing)
{
    char byte;
    MPI_Recv(&byte, 1, MPI_BYTE, MPI_ANY_SOURCE, 42, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    return nothing;
}

static void receive_in_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, receive_for_ever, NULL);
}

/* ---- Names that are not UTF-8 ---------------------------------------------------------------- */

/* Uses names in Latin-1, or truncated within a character, for a communicator, a region and a
 * file. */
static void use_odd_names(void)
{
    char cut[MPI_MAX_OBJECT_NAME + 2] = "";
    for (int i = 0; i < MPI_MAX_OBJECT_NAME - 2; i++)
        cut[i] = 'c';
    cut[MPI_MAX_OBJECT_NAME - 2] = '\xc3';
    expect(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    expect(MPI_Comm_set_name(comm, cut));
    MPI_Pcontrol(1, "r\xe9gion \xe2\x82");
    expect(MPI_Barrier(comm));
    MPI_Pcontrol(-1, "r\xe9gion \xe2\x82");
    expect(MPI_File_open(comm, "\xff, \xc3\xa9", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                         &file));
    expect(MPI_File_close(&file));
    expect(MPI_Comm_free(&comm));
}

/* ---- Others ---------------------------------------------------------------------------------- */

static void await_file(const char *name)
{
    for (int tries = 0; access(name, F_OK) && tries < 6000; tries++)
        usleep(10000);
    if (access(name, F_OK)) {
        fprintf(stderr, "steps: there is no %s\n", name);
        exit(98);
    }
}

static void make_file(const char *name)
{
    FILE *stream = fopen(name, "w");
    if (stream)
        fclose(stream);
}

static void await_self(const char *begin)
{
    char name[64];
    snprintf(name, sizeof name, "%s%ld", begin, (long)getpid());
    await_file(name);
}

static void print_time(const char *name)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    printf("clock %s %.9f\n", name, (double)time.tv_sec + (double)time.tv_nsec * 1e-9);
    fflush(stdout);
}

static void touch_megabytes(int number)
{
    const size_t size = (size_t)number << 20;
    char *room = malloc(size);
    for (size_t at = 0; room && at < size; at += 1024)
        ((volatile char *)room)[at] = 1;
    free(room);
}

static void send_type(MPI_Datatype type, int count)
{
    static char sent[1024], received[1024];
    MPI_Request request;
    int rank;
    expect(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    expect(MPI_Irecv(received, (int)sizeof received, MPI_BYTE, rank, 0, MPI_COMM_WORLD, &request));
    expect(MPI_Send(sent, count, type, rank, 0, MPI_COMM_WORLD));
    expect(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void use_types(void)
{
    static const MPI_Datatype predefined[] = {MPI_INT, MPI_DOUBLE, MPI_DOUBLE, MPI_CHAR, MPI_INT};
    for (int i = 0; i < 5; i++)
        send_type(predefined[i], 3);
    for (int i = 0; i < 5; i++) {
        MPI_Datatype type;
        expect(MPI_Type_contiguous(i + 1, MPI_INT, &type));
        expect(MPI_Type_commit(&type));
        send_type(type, 2);
        send_type(type, 2);
        expect(MPI_Type_free(&type));
    }
}

int handle_step(const char *step, const char *value)
{
    if (!strcmp(step, "off"))
        switch_tool(value, 0);
    else if (!strcmp(step, "on"))
        switch_tool(value, 1);
    else if (!strcmp(step, "clock"))
        print_time(value);
    else if (!strcmp(step, "dup"))
        expect(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &comm));
    else if (!strcmp(step, "dup_self"))
        expect(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    else if (!strcmp(step, "name"))
        expect(MPI_Comm_set_name(comm, value));
    else if (!strcmp(step, "use"))
        expect(MPI_Barrier(comm));
    else if (!strcmp(step, "drop"))
        expect(MPI_Comm_free(&comm));
    else if (!strcmp(step, "types"))
        use_types();
    else if (!strcmp(step, "open"))
        expect(MPI_File_open(MPI_COMM_SELF, value, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                             &file));
    else if (!strcmp(step, "write"))
        expect(MPI_File_write_at(file, 0, "1234567", 7, MPI_BYTE, MPI_STATUS_IGNORE));
    else if (!strcmp(step, "close"))
        expect(MPI_File_close(&file));
    else if (!strcmp(step, "jump"))
        jump();
    else if (!strcmp(step, "in_dup"))
        dup_doing(1, value);
    else if (!strcmp(step, "in_finalize"))
        finalize_doing(value);
    else if (!strcmp(step, "in_two_dups"))
        dup_doing(2, value);
    else if (!strcmp(step, "receive"))
        receive_for_ever(NULL);
    else if (!strcmp(step, "receive_in_thread"))
        receive_in_thread();
    else if (!strcmp(step, "odd_names"))
        use_odd_names();
    else if (!strcmp(step, "await"))
        await_file(value);
    else if (!strcmp(step, "make"))
        make_file(value);
    else if (!strcmp(step, "touch"))
        touch_megabytes(atoi(value));
    else if (!strcmp(step, "locale"))
        return setlocale(LC_ALL, "") != NULL;
    else if (!strcmp(step, "await_pid"))
        await_self(value);
    else
        return session_step(step, value);
    return 1;
}
