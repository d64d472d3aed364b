/* SPDX-License-Identifier: MIT */
/*
 * See save.h. The functions that write a result are not safe in a signal handler. After a fatal
 * signal, a child therefore writes the result. The child is a copy of the process, made by _Fork
 * or, if glibc has no _Fork, by the bare system call, so that the process itself waits for no
 * lock. If the child finds the lock of the memory allocator held, or the heap corrupt, it is killed
 * after a while. The process then prints a message, and ends all the same.
 */
#define _GNU_SOURCE
#include "tools/profile/collect/save.h"

#include "toolkit/toolkit.h"
#include "tools/profile/collect/rank_result.h"
#include "tools/profile/record/threads.h"
#include "tools/profile/result/profile.h"
#include "util/util.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- Names ----------------------------------------------------------------------------------- */

static bool has_suffix(const char *text, const char *end)
{
    const size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && !strcmp(text + length - end_length, end);
}

/* Returns whether all other layers have output=. Two layers without it would write to the same
 * file. */
static bool is_only_nameless(const struct layer *layer)
{
    for (const struct layer *other = layer_list; other; other = other->next) {
        if (other != layer && !other->options.output)
            return false;
    }
    return true;
}

/* Returns the pattern of the name of a process's JSON file, which the caller frees, or NULL if
 * memory is exhausted. */
static char *process_pattern(const struct layer *layer)
{
    const char *pattern = layer->options.output;
    if (!pattern)
        return strdup(is_only_nameless(layer) ? "qmpi-profile.json" : "qmpi-profile.%t.json");
    char *name = tool_output_name(pattern, layer->tool_id, layer->rank);
    const bool as_given = layer->options.format == PROFILE_JSON || has_suffix(pattern, ".json") ||
                          (name && tool_output_name_is_special(name));
    char *with_suffix = NULL;
    if (asprintf(&with_suffix, "%s%s", pattern, as_given ? "" : ".json") < 0)
        with_suffix = NULL;
    free(name);
    return with_suffix;
}

/* Returns whether the process has a rank. After a fatal signal, MPI is not asked, because such
 * signals are watched only if the layer has begun. */
static bool has_rank(struct layer *layer)
{
    return layer->has_begun || tool_world_has_rank(&layer->sessions);
}

/* Names the file of a process. The program may change its working directory, but the file is in the
 * directory that was current in `init`. `part` distinguishes the files of MPI_Pcontrol(2), and
 * is NULL for other files. Returns false if the pattern is invalid or memory is exhausted. */
static bool name_process_file(struct layer *layer, const char *part, struct tool_output *output)
{
    char *pattern = process_pattern(layer);
    const struct tool_output_names names = {.pattern = pattern,
                                            .tool_id = layer->tool_id,
                                            .rank = layer->rank,
                                            .is_of_process = true,
                                            .has_no_rank = !has_rank(layer),
                                            .part = part,
                                            .folder = layer->folder};
    *output = (struct tool_output){.number = 0};
    const bool good = pattern && tool_output_make(output, &names);
    /* Checkpoints may be written in MPI_Init, before the processes of other ranks have begun. */
    output->is_early = layer->options.checkpoint || layer->options.save_signal;
    free(pattern);
    return good;
}

/* Returns the file in which checkpoints and then the data at the end of the process replace each
 * other, or NULL if it cannot be named. Until MPI tells the rank, the name has the rank that the
 * launcher tells. If the two ranks differ, a new name is made. */
static struct tool_output *process_file(struct layer *layer)
{
    struct tool_output *output = &layer->process_output;
    if (output->path && output->rank == layer->rank)
        return output;
    tool_output_clear(output);
    layer->saving.names_early = !layer->has_begun;
    return name_process_file(layer, NULL, output) ? output : NULL;
}

/* ---- Writing --------------------------------------------------------------------------------- */

static char *copy_text(const char *text)
{
    return text ? strdup(text) : NULL;
}

static int look_up_places(const struct profile_result *result, const struct profile_frame *frame,
                          struct profile_frame **places)
{
    const QMPIX_Address *found;
    (void)result;
    if (QMPIX_Library_describe(frame->module, frame->offset, &found) || !found->frame_count)
        return 0;
    *places = calloc((size_t)found->frame_count, sizeof **places);
    for (int i = 0; *places && i < found->frame_count; i++)
        (*places)[i] = (struct profile_frame){.function = copy_text(found->frames[i].function),
                                              .file = copy_text(found->frames[i].file),
                                              .line = found->frames[i].line};
    return *places ? found->frame_count : 0;
}

static bool some_thread_runs(void)
{
    const struct layer *layer = layer_list;
    while (layer && !layer->saving.runs)
        layer = layer->next;
    return layer != NULL;
}

/* Finds the places in the source code, and then releases the debug information, unless a thread
 * that writes checkpoints needs it again (see start_thread). The program may have used up its
 * descriptors. */
static void resolve_frames(struct profile_result *result)
{
    struct qmpi_output_room room;
    qmpi_output_room_make(&room);
    profile_programs_resolve(result, look_up_places);
    qmpi_output_room_end(&room);
    if (!some_thread_runs())
        QMPIX_Debug_info_release();
}

static bool write_format(const struct layer *layer, const struct profile_result *result,
                         const char *path, char **problem)
{
    *problem = NULL;
    switch (layer->options.format) {
    case PROFILE_JSON:
        return profile_json_write(result, path, problem);
    case PROFILE_CSV:
        return profile_csv_write(result, path, problem);
    case PROFILE_HTML:
        return layer->options.write_page(result, path, problem);
    default:
        return profile_text_write(result, path, layer->options.top, problem);
    }
}

static void print_text_table(const struct layer *layer, const struct profile_result *result)
{
    char *problem = NULL;
    if (!profile_text_write(result, NULL, layer->options.top, &problem))
        qmpi_printf("profile (layer %d): %s", layer->tool_id, problem ? problem : "out of memory");
    free(problem);
}

/* Writes a file, and returns its path. If another process creates a file of this name meanwhile,
 * the next name is tried. Returns NULL if the file cannot be written. *problem then says why, and
 * the caller frees it; it is NULL if memory is exhausted. */
static const char *write_claimed(const struct layer *layer, const struct profile_result *result,
                                 struct tool_output *output, bool as_json, char **problem)
{
    enum { TRIES = 1000 };
    for (int tries = 1;; tries++) {
        const char *path = tool_output_claim(output, false);
        *problem = NULL;
        errno = 0;
        if (!path)
            return NULL;
        if (as_json ? profile_json_write(result, path, problem)
                    : write_format(layer, result, path, problem)) {
            tool_output_report(output, "profile");
            return path;
        }
        if (errno != EEXIST || tries == TRIES)
            return NULL;
        free(*problem);
        tool_output_pass(output);
    }
}

static bool name_job_file(struct layer *layer)
{
    const struct tool_output_names names = {.pattern = layer->options.output,
                                            .tool_id = layer->tool_id,
                                            .rank = layer->rank,
                                            .folder = layer->folder};
    return layer->output.path || tool_output_make(&layer->output, &names);
}

/* The data for functions that run on a separate stack, which is large enough for them. */
struct writing {
    struct layer *layer;
    struct profile_result *result; /* for write_job_result: the result of all ranks */
    struct tool_output *output;    /* This and the members below are for write_process_result. */
    const char *termination;
    bool crashed, resolves;
    const char *path; /* NULL: the file was not written, for the reason in `problem` */
    char *problem;
};

static void write_job_result(void *data)
{
    const struct writing *writing = data;
    struct layer *layer = writing->layer;
    struct profile_result *result = writing->result;
    char *problem = NULL;
    result->rank = -1;
    free(result->termination);
    result->termination = NULL;
    profile_result_sort(result, PROFILE_BY_TIME);
    resolve_frames(result);
    if (!layer->options.output) {
        print_text_table(layer, result);
    } else if (!name_job_file(layer) ||
               !write_claimed(layer, result, &layer->output, false, &problem)) {
        qmpi_printf("profile (layer %d): %s\n  printing the table instead\n"
                    "  hint: use output=FILE to name a file that can be written",
                    layer->tool_id, problem ? problem : "out of memory");
        print_text_table(layer, result);
    }
    free(problem);
}

void save_job_result(struct layer *layer, struct profile_result *result)
{
    struct writing writing = {.layer = layer, .result = result};
    if (!qmpi_call_stack_run(write_job_result, &writing))
        qmpi_printf("profile (layer %d): out of memory: the result is not written", layer->tool_id);
    profile_result_free(result);
}

/* ---- This process alone ---------------------------------------------------------------------- */

enum care {
    IN_FULL,    /* The result contains symbols. */
    IN_PASSING, /* The program goes on, so symbols are not looked up. */
    CRASHED     /* Any lock may be held, and any data may be corrupt. */
};

static void write_process_result(void *data)
{
    struct writing *writing = data;
    struct layer *layer = writing->layer;
    struct profile_result *result = rank_result_make(layer, writing->termination, writing->crashed);
    if (!result)
        return;
    profile_result_sort(result, PROFILE_BY_TIME);
    if (writing->resolves)
        resolve_frames(result);
    if (writing->output)
        writing->path = write_claimed(layer, result, writing->output, true, &writing->problem);
    if (!writing->path && writing->resolves && layer->rank == 0)
        print_text_table(layer, result);
    profile_result_free(result);
}

/* Writes the result of this process, and returns the path of the file. Returns NULL if the file was
 * not written. *problem then says why, and the caller frees it; it is NULL if memory is exhausted.
 * If the file was not written and `care` is IN_FULL, rank 0 prints its table to stderr. The other
 * ranks do not, because there may be many. */
QMPI_COMPUTES static const char *build_and_write(struct layer *layer, struct tool_output *output,
                                                 const char *termination, enum care care,
                                                 char **problem)
{
    struct writing writing = {.layer = layer,
                              .output = output,
                              .termination = termination,
                              .crashed = care == CRASHED,
                              .resolves = care == IN_FULL};
    if (writing.crashed)
        /* Unlike qmpi_call_stack_run, this starts no thread. */
        qmpi_memory_catch_exhausted(write_process_result, &writing);
    else
        qmpi_call_stack_run(write_process_result, &writing);
    *problem = writing.problem;
    return writing.path;
}

static const char *write_process(struct layer *layer, struct tool_output *output,
                                 const char *termination, enum care care, char **problem)
{
    struct qmpi_arithmetic before;
    qmpi_arithmetic_begin(&before);
    const char *path = build_and_write(layer, output, termination, care, problem);
    qmpi_arithmetic_end(&before);
    return path;
}

/* Returns whether the data of this process, which ends, must be written. No other thread then
 * writes them. If the results were merged in MPI_Finalize, they are written only if calls have been
 * made since. */
static bool begin_last(struct layer *layer)
{
    return !atomic_exchange(&layer->reported, true) && atomic_load(&layer->was_on) &&
           (!layer->has_sessions ||
            threads_count_calls(layer->tool_id, layer->options.depth) != layer->merged_calls);
}

enum { END_TEXT = 128 };

/* Writes to `text` how a process has ended that has written its data separately. */
static void describe_end(struct layer *layer, const char *termination, char text[END_TEXT])
{
    if (has_rank(layer))
        snprintf(text, END_TEXT, "rank %d ended without %s (%s)", layer->rank,
                 layer->has_sessions ? "MPI_Session_finalize" : "MPI_Finalize", termination);
    else
        snprintf(text, END_TEXT, "process %d, which did not initialize MPI, has ended (%s)",
                 getpid(), termination);
}

static void write_last(struct layer *layer, const char *termination, enum care care)
{
    char *problem, end[END_TEXT];
    if (!begin_last(layer))
        return;
    const char *path = write_process(layer, process_file(layer), termination, care, &problem);
    describe_end(layer, termination, end);
    if (path)
        qmpi_printf("profile (layer %d): %s; its data is in %s", layer->tool_id, end, path);
    else
        qmpi_printf("profile (layer %d): %s, and its data cannot be saved: %s\n"
                    "  hint: use output=FILE to name a file that can be written",
                    layer->tool_id, end, problem ? problem : "out of memory");
    free(problem);
}

void save_last(struct layer *layer, const char *termination)
{
    write_last(layer, termination, IN_FULL);
}

/* Writes the data of a process that ends normally after it has finalized MPI, if no result of all
 * ranks contains it. Prints the name of the file if the results could not be merged, or if output=
 * is not given. Further calls do nothing. */
static void write_separately(struct layer *layer, const char *termination)
{
    char *problem;
    if (!begin_last(layer))
        return;
    const char *path = write_process(layer, process_file(layer), termination, IN_FULL, &problem);
    const char *reason =
        layer->has_failed ? "MPI_Finalize could not merge the data of the ranks; " : "";
    if (!path)
        qmpi_printf("profile (layer %d): rank %d: %sits data cannot be saved: %s\n  hint: use "
                    "output=FILE to name a file that can be written",
                    layer->tool_id, layer->rank, reason, problem ? problem : "out of memory");
    else if (layer->has_failed)
        qmpi_printf("profile (layer %d): rank %d: %sits data is in %s", layer->tool_id, layer->rank,
                    reason, path);
    else if (!layer->options.output)
        qmpi_printf("profile (layer %d): rank %d: its data is in %s", layer->tool_id, layer->rank,
                    path);
    free(problem);
}

void save_current(struct layer *layer)
{
    struct tool_output output;
    char *problem, part[32];
    if (!atomic_load(&layer->was_on))
        return;
    snprintf(part, sizeof part, "snapshot-%d", atomic_fetch_add(&layer->snapshots, 1) + 1);
    const bool has_name = name_process_file(layer, part, &output);
    const char *path =
        write_process(layer, has_name ? &output : NULL, "MPI_Pcontrol", IN_PASSING, &problem);
    if (path)
        qmpi_printf("profile (layer %d): rank %d: MPI_Pcontrol(2): written to %s", layer->tool_id,
                    layer->rank, path);
    else
        qmpi_printf("profile (layer %d): rank %d: MPI_Pcontrol(2): %s", layer->tool_id, layer->rank,
                    problem ? problem : "out of memory");
    free(problem);
    tool_output_clear(&output);
}

/* ---- Checkpoints ----------------------------------------------------------------------------- */

static atomic_bool is_ending; /* A signal is ending the process. */

/* sem_clockwait of glibc 2.30, which can wait by a clock that is never set. It is looked up at run
 * time, so that the tool can also be loaded with an earlier glibc. */
typedef int clock_waiter(sem_t *semaphore, clockid_t clock, const struct timespec *when);
static clock_waiter *wait_by_clock; /* NULL: it does not exist, or was not looked up yet */

/* Without sem_clockwait, waits by a clock that may be set meanwhile. */
static int wait_in_real_time(sem_t *semaphore, const struct timespec *when)
{
    struct timespec now, real;
    clock_gettime(CLOCK_MONOTONIC, &now);
    clock_gettime(CLOCK_REALTIME, &real);
    real.tv_sec += when->tv_sec - now.tv_sec;
    real.tv_nsec += when->tv_nsec - now.tv_nsec;
    if (real.tv_nsec < 0 || real.tv_nsec >= 1000000000) {
        const int carry = real.tv_nsec < 0 ? -1 : 1;
        real.tv_sec += carry;
        real.tv_nsec -= carry * 1000000000L;
    }
    return sem_timedwait(semaphore, &real);
}

/* Waits until `wanted` is posted, and returns 0. With the option checkpoint=, waits until `when` at
 * most, and then returns ETIMEDOUT. */
static int wait_for_checkpoint(struct layer *layer, const struct timespec *when)
{
    int result;
    do {
        if (!layer->options.checkpoint)
            result = sem_wait(&layer->saving.wanted);
        else if (wait_by_clock)
            result = wait_by_clock(&layer->saving.wanted, CLOCK_MONOTONIC, when);
        else
            result = wait_in_real_time(&layer->saving.wanted, when);
    } while (result && errno == EINTR);
    return result ? errno : 0;
}

/* Replaces the last checkpoint by the current data. A failure is reported only once, because the
 * next checkpoint may succeed again, and not at all if `quiet`. */
static void replace_checkpoint(struct layer *layer, bool quiet)
{
    char *problem;
    if (!atomic_load(&layer->was_on))
        return;
    if (write_process(layer, process_file(layer), "checkpoint", IN_PASSING, &problem))
        layer->saved = true;
    else if (!layer->warned && !quiet) {
        layer->warned = true;
        qmpi_printf("profile (layer %d): rank %d: no checkpoint: %s", layer->tool_id, layer->rank,
                    problem ? problem : "out of memory");
    }
    free(problem);
}

/* Waits while checkpoints are paused. Returns false if the thread is to stop. Otherwise, the caller
 * calls end_checkpoint. */
static bool begin_checkpoint(struct layer *layer)
{
    const struct timespec moment = {0, 1000000};
    for (;;) {
        while (atomic_load(&layer->saving.paused)) {
            if (atomic_load(&layer->saving.stop))
                return false;
            nanosleep(&moment, NULL);
        }
        atomic_fetch_add(&layer->saving.writes, 1);
        if (!atomic_load(&layer->saving.paused))
            return true;
        atomic_fetch_sub(&layer->saving.writes, 1);
    }
}

static void end_checkpoint(struct layer *layer)
{
    atomic_fetch_sub(&layer->saving.writes, 1);
}

/* Writes no checkpoint if the process is ending or has reported, because the final file is more
 * complete and has the same name. */
static void write_checkpoint(struct layer *layer, bool quiet)
{
    if (!atomic_load(&is_ending) && !atomic_load(&layer->reported))
        replace_checkpoint(layer, quiet);
}

/* On rank 0, tells the user that the signal has caused a checkpoint. */
static void report_checkpoint(struct layer *layer)
{
    const bool knows_rank = layer->has_begun || qmpi_launcher_rank() >= 0;
    if (knows_rank && layer->rank == 0 && layer->saved && !atomic_load(&layer->reported))
        qmpi_printf("profile (layer %d): rank 0: its data so far is in %s", layer->tool_id,
                    tool_output_claim(process_file(layer), false));
}

static void add_interval(struct timespec *when, uint64_t interval)
{
    const uint64_t nanoseconds = (uint64_t)when->tv_nsec + interval;
    when->tv_sec += (time_t)(nanoseconds / 1000000000);
    when->tv_nsec = (long)(nanoseconds % 1000000000);
}

static void *run_checkpoints(void *data)
{
    struct layer *layer = data;
    struct timespec when;
    struct qmpi_arithmetic ignored;
    /* The thread sets its own floating-point settings, because it has inherited the program's. */
    qmpi_arithmetic_begin(&ignored);
    clock_gettime(CLOCK_MONOTONIC, &when);
    add_interval(&when, layer->options.checkpoint);
    for (;;) {
        const int result = wait_for_checkpoint(layer, &when);
        if (atomic_load(&layer->saving.stop) || !begin_checkpoint(layer))
            return NULL;
        write_checkpoint(layer, false);
        if (result == ETIMEDOUT)
            add_interval(&when, layer->options.checkpoint);
        else
            report_checkpoint(layer);
        end_checkpoint(layer);
    }
}

/* Starts the thread with all signals blocked, because the signals of the application are for its
 * own threads. Returns 0 or an error number. */
static int start_thread(struct layer *layer)
{
    sigset_t all, before;
    const QMPIX_Address *ignored;
    /* The thread must not open a library or look up a function, because it could wait for ever:
     * another thread may be closing a library, and hold the lock of the dynamic loader. If the
     * library that is closed finalizes MPI, its destructor waits for the new thread. Therefore, the
     * reader of debug information is opened now, by a lookup of any address, and sem_clockwait is
     * looked up now. */
    QMPIX_Library_describe("", 0, &ignored);
    wait_by_clock = (clock_waiter *)(uintptr_t)dlsym(RTLD_DEFAULT, "sem_clockwait");
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int problem = pthread_create(&layer->saving.thread, NULL, run_checkpoints, layer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return problem;
}

/* A failure is not reported, because the result itself is written next. If writing the result
 * fails, that is reported. */
void save_last_checkpoint(struct layer *layer)
{
    if (!layer->options.checkpoint)
        return;
    atomic_fetch_add(&layer->saving.writes, 1);
    write_checkpoint(layer, true);
    end_checkpoint(layer);
}

/* Sleeps while it waits, because a checkpoint may take long on a slow file system. `paused` is no
 * lock: if the caller's thread calls `exit` during the pause, save_stop_checkpoints must still be
 * able to stop the thread that writes checkpoints. */
void save_pause_checkpoints(struct layer *layer)
{
    const struct timespec moment = {0, 100000};
    atomic_fetch_add(&layer->saving.paused, 1);
    while (atomic_load(&layer->saving.writes))
        nanosleep(&moment, NULL);
}

void save_resume_checkpoints(struct layer *layer)
{
    atomic_fetch_sub(&layer->saving.paused, 1);
}

void save_start_checkpoints(struct layer *layer)
{
    if ((!layer->options.checkpoint && !layer->options.save_signal) || layer->saving.runs)
        return;
    atomic_store(&layer->saving.stop, false);
    const int problem = start_thread(layer);
    layer->saving.runs = !problem;
    if (problem)
        qmpi_printf("profile (layer %d): rank %d: no checkpoints: cannot start a thread: %s",
                    layer->tool_id, layer->rank, strerror(problem));
}

static void stop_thread(struct layer *layer)
{
    atomic_store(&layer->saving.stop, true);
    sem_post(&layer->saving.wanted);
    pthread_join(layer->saving.thread, NULL);
    layer->saving.runs = false;
}

void save_stop_checkpoints(struct layer *layer)
{
    static pthread_mutex_t stopping = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&stopping); /* Several threads may end the process at the same time. */
    if (layer->saving.runs)
        stop_thread(layer);
    pthread_mutex_unlock(&stopping);
}

void save_correct_name(struct layer *layer)
{
    struct tool_output *output = &layer->process_output;
    if (!output->path || !layer->saving.names_early ||
        (output->rank == layer->rank && !tool_run_is_child()))
        return;
    save_remove_checkpoint(layer);
    tool_output_clear(output);
}

void save_remove_checkpoint(struct layer *layer)
{
    if (layer->saved && !layer->process_output.is_special)
        unlink(tool_output_claim(&layer->process_output, false));
    layer->saved = false;
}

/* ---- Fatal signals -------------------------------------------------------------------------- */

enum { PATIENCE = TOOL_END_PATIENCE /* the seconds that the child may take */ };

static atomic_bool watching; /* Of several threads, only the one that changes it acts. */

/* Prevents new checkpoints, and waits for those that are being written. For each layer it waits at
 * most about 2 s, because the writing thread may need a lock that the interrupted thread holds. */
static void stop_for_signal(void)
{
    enum { MILLISECONDS = 2000 };
    const struct timespec pause = {0, 1000000};
    atomic_store(&is_ending, true);
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        for (int i = 0; atomic_load(&layer->saving.writes) && i < MILLISECONDS; i++)
            nanosleep(&pause, NULL);
    }
}

static pid_t fork_process(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    return _Fork();
#else
    return (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
#endif
}

/* Blocks all signals except those that end the child if it cannot go on. Others would end the child
 * before it has saved the data: at a time limit, for example, batch systems send a signal to all
 * processes of the group repeatedly. */
static void set_signals_of_child(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS,  SIGILL, SIGFPE,
                                  SIGABRT, SIGTRAP, SIGSYS, SIGALRM};
    sigset_t blocked;
    tool_end_set_default_signals();
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigdelset(&blocked, numbers[i]);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
}

static void write_in_child(const char *name)
{
    char termination[32];
    set_signals_of_child();
    alarm(PATIENCE);
    snprintf(termination, sizeof termination, "signal %s", name);
    for (struct layer *layer = layer_list; layer; layer = layer->next)
        write_last(layer, termination, CRASHED);
    _exit(0);
}

static void wait_for_child(pid_t child)
{
    static const char lost[] = "qmpi: profile: the data of this process could not be saved: the "
                               "signal interrupted the memory allocator or its data is corrupt\n"
                               "qmpi:   hint: use checkpoint=TIME to save data periodically\n";
    const struct timespec pause = {0, 2000000};
    int status = -1;
    pid_t ended = 0;
    for (int tries = 0; ended == 0 && tries < (PATIENCE + 1) * 500; tries++) {
        ended = waitpid(child, &status, WNOHANG);
        if (ended < 0 && errno == EINTR)
            ended = 0;
        if (ended == 0)
            nanosleep(&pause, NULL);
    }
    if (ended < 0 && errno == ECHILD)
        return; /* The application lets the kernel reap its children, so the status is unknown. */
    if (ended != child) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
    }
    if (ended != child || !WIFEXITED(status) || WEXITSTATUS(status))
        qmpi_output_standard_write(STDERR_FILENO, lost, sizeof lost - 1);
}

static bool all_reported(void)
{
    bool all = true;
    for (const struct layer *layer = layer_list; layer; layer = layer->next)
        all = all && atomic_load(&layer->reported);
    return all;
}

static bool wants_signal(void)
{
    return layers_are_of_process() && !all_reported();
}

static void on_fatal_signal(int number, const char *name)
{
    (void)number;
    stop_for_signal();
    rank_result_prepare_fork();
    const pid_t child = fork_process();
    if (child == 0)
        write_in_child(name);
    if (child > 0)
        wait_for_child(child);
}

/* ---- Signals that ask for a checkpoint ------------------------------------------------------- */

static void handle_save_signal(int number)
{
    const int error = errno;
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        if (layer->options.save_signal == number && layers_are_of_process())
            sem_post(&layer->saving.wanted);
    }
    errno = error;
}

static bool is_ours(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == handle_save_signal;
}

static void install_save_handler(int number)
{
    const struct sigaction ours = {.sa_handler = handle_save_signal,
                                   .sa_flags = SA_RESTART | SA_ONSTACK};
    QMPIX_Tool_sigaction(number, &ours, NULL, true);
}

static void watch_save_signal(struct layer *layer)
{
    const int number = layer->options.save_signal;
    struct sigaction before;
    if (!number || layer->saving.watches ||
        QMPIX_Tool_sigaction(number, NULL, &before, false) != MPI_SUCCESS)
        return;
    layer->saving.watches = true;
    if (!is_ours(&before) && !tool_end_can_replace(&before))
        qmpi_printf("profile (layer %d): rank %d: save-signal=: the program handles signal %d "
                    "itself\n  hint: choose another signal",
                    layer->tool_id, layer->rank, number);
    else if (!is_ours(&before))
        install_save_handler(number);
}

/* Leaves the signal as it is unless it has its usual effect. watch_save_signal then prints the
 * message. */
void save_watch_early(struct layer *layer)
{
    const int number = layer->options.save_signal;
    struct sigaction before;
    if (number && QMPIX_Tool_sigaction(number, NULL, &before, false) == MPI_SUCCESS &&
        tool_end_can_replace(&before))
        install_save_handler(number);
    save_start_checkpoints(layer);
}

static void unwatch_save_signal(const struct layer *layer)
{
    const int number = layer->options.save_signal;
    const struct sigaction usual = {.sa_handler = SIG_DFL};
    struct sigaction now;
    if (number && QMPIX_Tool_sigaction(number, NULL, &now, false) == MPI_SUCCESS && is_ours(&now))
        QMPIX_Tool_sigaction(number, &usual, NULL, true);
}

/* ---- Watching -------------------------------------------------------------------------------- */

void save_watch_signals(void)
{
    static const struct tool_end_signals user = {wants_signal, on_fatal_signal};
    /* These handlers come first, so that their signals are not handled as fatal ones. */
    for (struct layer *layer = layer_list; layer; layer = layer->next)
        watch_save_signal(layer);
    if (!atomic_exchange(&watching, true))
        tool_end_watch_signals(&user);
}

void save_unwatch_signals(void)
{
    if (!all_reported() || !atomic_exchange(&watching, false))
        return;
    for (const struct layer *layer = layer_list; layer; layer = layer->next)
        unwatch_save_signal(layer);
    tool_end_unwatch_signals();
}

/* ---- Exit ------------------------------------------------------------------------------------ */

static void save_at_exit(void)
{
    if (!layers_are_of_process())
        return; /* This is a forked child, and the figures belong to its parent. */
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        save_stop_checkpoints(layer);
        if (layer->has_failed)
            write_separately(layer, PROFILE_NOT_MERGED);
        else if (tool_world_sessions_are_over(&layer->sessions))
            write_separately(layer, PROFILE_SESSIONS_ENDED);
        else
            save_last(layer, "exit");
    }
    save_unwatch_signals();
}

/* Reports after all other destructors, because until then a library of the program may call
 * MPI_Finalize. The library that describes addresses is loaded now already. If it were loaded after
 * the destructors, the loader would run the constructors of the libraries that it depends on a
 * second time. */
__attribute__((destructor)) static void leave_after_others(void)
{
    const QMPIX_Address *address;
    bool reports = false;
    for (const struct layer *layer = layer_list; layer; layer = layer->next)
        reports = reports || !atomic_load(&layer->reported);
    if (reports)
        QMPIX_Address_describe((const void *)(uintptr_t)leave_after_others, &address);
    tool_end_after_destructors(save_at_exit);
}
