/* SPDX-License-Identifier: MIT */
/* See process_file.h. */
#define _GNU_SOURCE
#include "tools/trace/save/process_file.h"

#include "tools/trace/export/trace.h"
#include "tools/trace/layer.h"
#include "tools/trace/save/directory.h"
#include "tools/trace/write/writer.h"
#include "util/util.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* ---- The beginning of the file --------------------------------------------------------------- */

static void choose_run_number(uint64_t run[2])
{
    struct timespec now;
    if (getrandom(run, 2 * sizeof *run, GRND_NONBLOCK) == (ssize_t)(2 * sizeof *run))
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    run[0] = (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
    run[1] = (uint64_t)getpid() << 32 ^ ticks_now();
}

/* Chooses the number without communication. All processes of a job choose the same one, if the
 * launcher identifies the job. */
static void choose_run_number_alone(const struct layer *layer, uint64_t run[2])
{
    const char *job = layer->launcher_rank < 0 ? NULL : tool_run_job();
    if (!job) {
        choose_run_number(run);
        return;
    }
    run[0] = 1;
    for (; *job; job++)
        run[0] = qmpi_table_mix_two(run[0], (unsigned char)*job);
    run[1] = qmpi_table_mix(run[0]);
}

static char *host_name(void)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return strdup(host);
}

/* Moves a file that was begun before MPI_Init had returned, and makes the writer add the rank to
 * it. */
static void move_file(struct layer *layer, char *path)
{
    struct layer_writer *writer = &layer->writer;
    if (rename(writer->path, path)) {
        qmpi_printf("trace (layer %d): rank %d: cannot move %s to %s: %s; it stays there",
                    layer->tool_id, layer->rank, writer->path, path, strerror(errno));
        free(path);
        path = writer->path;
    }
    writer->path = path;
    qmpi_output_set_path(&writer->output, path);
    writer->mpi = tool_world_mpi_version();
    atomic_store(&writer->has_world, true);
}

static void open_process_file(struct layer *layer)
{
    char *host = host_name();
    char *path = trace_file_path(layer->directory, layer->rank, getpid(), host ? host : "");
    free(host);
    directory_make(layer->directory);
    if (!path)
        return;
    if (atomic_load(&layer->writer.runs)) {
        move_file(layer, path);
        return;
    }
    writer_start(layer, path);
    free(path);
}

/* `data` is the layer. */
static void start_early(void *data)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct layer *layer = data;
    char *path = NULL, *host = host_name();
    pthread_mutex_lock(&lock);
    if (!atomic_load(&layer->writer.runs) && !layer->has_failed_early && host &&
        asprintf(&path, "%s.%s-%ld" TRACE_FILE_SUFFIX, layer->directory, host, (long)getpid()) > 0)
        layer->has_failed_early = !writer_start(layer, path);
    pthread_mutex_unlock(&lock);
    free(path);
    free(host);
}

/* The version of the MPI library and the path of the program are read, for which the stack of the
 * thread may be too small. */
bool process_file_start_early(struct layer *layer)
{
    qmpi_call_stack_run_here(start_early, layer);
    return atomic_load(&layer->writer.runs);
}

static void say_nothing_recorded(const struct layer *layer, char *problem)
{
    qmpi_printf("trace (layer %d): %-s\n  nothing is recorded", layer->tool_id, problem);
    free(problem);
}

/* Uses another directory. The directory that was chosen in `init` is not freed, because another
 * thread may be using it. */
static void use_directory(struct layer *layer, char *directory)
{
    if (layer->first_directory)
        free(layer->directory);
    else
        layer->first_directory = layer->directory;
    layer->directory = directory;
}

/* Uses the directory of the first process in all processes. Otherwise, the names would differ with
 * %p and %h. */
static bool share_directory(struct layer *layer, MPI_Comm comm, bool is_first)
{
    unsigned long long length = strlen(layer->directory);
    if (PMPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, 0, comm) != MPI_SUCCESS)
        return false;
    char *directory = calloc(1, (size_t)length + 1);
    if (!directory)
        return false;
    if (is_first)
        memcpy(directory, layer->directory, (size_t)length);
    if (PMPI_Bcast(directory, (int)length, MPI_BYTE, 0, comm) != MPI_SUCCESS) {
        free(directory);
        return false;
    }
    use_directory(layer, directory);
    return true;
}

/* Prepares the directory, or the next one that is free if it is taken. On failure, prints a message
 * and returns false. */
static bool prepare_directory(struct layer *layer, int *lock)
{
    char *problem = NULL;
    enum directory_state state = directory_prepare(layer->directory, lock, &problem);
    while (state == DIRECTORY_TAKEN || (state == DIRECTORY_FAILED && layer->output.number > 1 &&
                                        !access(layer->directory, F_OK))) {
        char *next = strdup(tool_output_next(&layer->output));
        if (!next)
            break;
        free(problem);
        use_directory(layer, next);
        state = directory_prepare(next, lock, &problem);
    }
    if (state == DIRECTORY_PREPARED)
        tool_output_report(&layer->output, "trace");
    else
        say_nothing_recorded(layer, problem);
    return state == DIRECTORY_PREPARED;
}

void process_file_start_all(struct layer *layer, MPI_Comm comm)
{
    /* Two words that identify the run, and whether a directory was prepared. */
    unsigned long long word[3] = {0, 0, 1};
    int lock = -1, rank = 0;
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        uint64_t run[2];
        choose_run_number(run);
        word[0] = run[0];
        word[1] = run[1];
        word[2] = prepare_directory(layer, &lock);
    }
    if (PMPI_Bcast(word, 3, MPI_UNSIGNED_LONG_LONG, 0, comm) != MPI_SUCCESS)
        word[2] = 0;
    layer->run[0] = word[0];
    layer->run[1] = word[1];
    layer->has_no_directory = !word[2];
    if (word[2])
        word[2] = share_directory(layer, comm, rank == 0);
    if (!word[2])
        layer_set_off(layer, LAYER_OFF_FAILED, true);
    else
        open_process_file(layer);
    if (lock >= 0)
        close(lock);
}

/* Chooses the directory without communication, but in such a way that all ranks choose the same
 * one. On failure, returns false; a message may have been printed. */
static bool choose_directory(struct layer *layer)
{
    while (directory_is_complete(layer->directory)) {
        char *next = strdup(tool_output_next(&layer->output));
        if (!next)
            return false;
        use_directory(layer, next);
    }
    tool_output_report(&layer->output, "trace");
    char *problem = directory_check(layer->directory);
    if (problem)
        say_nothing_recorded(layer, problem);
    return !problem;
}

/* Begins the file of a process that does not communicate with the others. `data` is the layer. */
static void start_alone(void *data)
{
    struct layer *layer = data;
    int lock = -1;
    if (layer->launcher_rank < 0 ? prepare_directory(layer, &lock) : choose_directory(layer)) {
        choose_run_number_alone(layer, layer->run);
        if (!layer->ranks && layer->launcher_rank >= 0 && qmpi_launcher_size() > 0)
            layer->ranks = qmpi_launcher_size();
        open_process_file(layer);
    } else {
        layer_set_off(layer, LAYER_OFF_FAILED, true);
    }
    if (lock >= 0)
        close(lock);
}

/* ---- A ring ---------------------------------------------------------------------------------- */

void process_file_request_save(struct layer *layer)
{
    atomic_store(&layer->writer.saves, true);
    layer_wake_writer(layer);
}

static void handle_save_signal(int number)
{
    const int error = errno;
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        if (layer->options.save_signal == number)
            process_file_request_save(layer);
    }
    errno = error;
}

static bool is_not_handled(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) &&
           (action->sa_handler == SIG_DFL || action->sa_handler == handle_save_signal);
}

void process_file_watch_save_signal(const struct layer *layer, bool is_early)
{
    const int number = layer->options.save_signal;
    struct sigaction before, ours;
    if (!number || QMPIX_Tool_sigaction(number, NULL, &before, false) != MPI_SUCCESS)
        return;
    if (!is_not_handled(&before)) {
        if (is_early)
            return;
        qmpi_printf(
            "trace (layer %d): rank %d: save-signal=: the program handles signal %d itself\n"
            "  hint: choose another signal, or write 1 to the control variable "
            "qmpi.trace.save",
            layer->tool_id, layer->rank, number);
        return;
    }
    memset(&ours, 0, sizeof ours);
    ours.sa_handler = handle_save_signal;
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    QMPIX_Tool_sigaction(number, &ours, NULL, true);
}

/* ---- The end of the file --------------------------------------------------------------------- */

/* Returns whether something was recorded. This may be true although the file was not begun: if the
 * program does not call MPI_Init, or if its sessions have no communicator of all processes. */
static bool has_records(const struct layer *layer)
{
    return atomic_load(&layer->recorders) && atomic_load(&layer->locations);
}

static void complete_file(struct layer *layer, enum trace_process_end end, const char *detail)
{
    enum { FOREVER = 1000000 };
    if (atomic_exchange(&layer->finished, true))
        return;
    layer->has_no_rank = !tool_world_has_rank(&layer->sessions);
    /* The file of a child of a rank stays beside the directory, which is that of the ranks. */
    if (!atomic_load(&layer->writer.runs) && has_records(layer) && layer_is_on(layer))
        qmpi_call_stack_run_here(layer->has_no_rank ? start_early : start_alone, layer);
    layer_set_off(layer, LAYER_OFF_CLOSED, true);
    if (layer_writes(layer))
        writer_finish(layer, end, detail, FOREVER);
}

void process_file_end(struct layer *layer, enum trace_process_end end)
{
    complete_file(layer, end, NULL);
}

void process_file_end_sessions(struct layer *layer)
{
    complete_file(layer, TRACE_END_FINALIZE, "MPI_Session_finalize");
}

/* Set while signals are watched. Threads exchange the value, so that only one of them begins to
 * watch signals, and only one ends this. */
static atomic_bool watching;

static bool wants_trace_signals(void)
{
    bool all = true;
    for (const struct layer *layer = layer_list; layer; layer = layer->next)
        all = all && (atomic_load(&layer->finished) || !layer_writes(layer));
    return layer_is_in_owner() && !all;
}

/* Completes the files of all layers. Takes no lock, because it is called in a signal handler; the
 * threads of the writers do the work. */
static void complete_on_signal(int number, const char *name)
{
    static const char lost[] =
        "qmpi: trace: the signal interrupted something that the writer needs; "
        "the trace ends with what was written before\n";
    (void)number;
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        if (atomic_exchange(&layer->finished, true) || !layer_writes(layer))
            continue;
        if (!writer_finish(layer, TRACE_END_SIGNAL, name, TOOL_END_PATIENCE / 2))
            qmpi_output_standard_write(STDERR_FILENO, lost, sizeof lost - 1);
    }
}

void process_file_watch_termination(void)
{
    static const struct tool_end_signals user = {wants_trace_signals, complete_on_signal};
    if (!atomic_exchange(&watching, true))
        tool_end_watch_signals(&user);
}

static void complete_at_exit(void)
{
    if (!layer_is_in_owner())
        return; /* the events belong to the parent of this forked child */
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        if (tool_world_sessions_are_over(&layer->sessions))
            process_file_end_sessions(layer);
        else
            process_file_end(layer, TRACE_END_EXIT);
    }
    if (atomic_exchange(&watching, false))
        tool_end_unwatch_signals();
}

/* Completes the file after all other destructors, because a library of the program may call
 * MPI_Finalize in its destructor. */
__attribute__((destructor)) static void complete_after_destructors(void)
{
    tool_end_after_destructors(complete_at_exit);
}
