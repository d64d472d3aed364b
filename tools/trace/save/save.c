/* SPDX-License-Identifier: MIT */
/* See save.h. */
#define _GNU_SOURCE
#include "tools/trace/save/save.h"

#include "tools/trace/layer.h"
#include "tools/trace/save/directory.h"
#include "tools/trace/save/matching.h"
#include "tools/trace/write/writer.h"
#include "util/util.h"

#include <errno.h>
#include <limits.h>
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

static char *host_name(void)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return strdup(host);
}

/* Moves a file that was begun before MPI_Init had returned, and makes the writer add the rank. */
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

bool save_start_early(struct layer *layer)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    char *path = NULL, *host = host_name();
    pthread_mutex_lock(&lock);
    if (!atomic_load(&layer->writer.runs) && !layer->has_failed_early && host &&
        asprintf(&path, "%s.%s-%ld" TRACE_FILE_SUFFIX, layer->directory, host, (long)getpid()) > 0)
        layer->has_failed_early = !writer_start(layer, path);
    pthread_mutex_unlock(&lock);
    free(path);
    free(host);
    return atomic_load(&layer->writer.runs);
}

static void say_nothing_recorded(const struct layer *layer, char *problem)
{
    qmpi_printf("trace (layer %d): %-s\n  nothing is recorded", layer->tool_id, problem);
    free(problem);
}

/* Uses another directory. That of `init` is not freed, because another thread may be using it. */
static void use_directory(struct layer *layer, char *directory)
{
    if (layer->first_directory)
        free(layer->directory);
    else
        layer->first_directory = layer->directory;
    layer->directory = directory;
}

/* Uses the directory of the first process in all processes, because with %p and %h, each process
 * has a different name. */
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
    if (PMPI_Bcast(directory, (int)length, MPI_BYTE, 0, comm) != MPI_SUCCESS)
        return false;
    use_directory(layer, directory);
    return true;
}

/* Prepares the directory, or the next one that is free. On failure, prints a message and returns
 * false. */
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

void save_start_all(struct layer *layer, MPI_Comm comm)
{
    unsigned long long word[3] = {0, 0, 1}; /* two words that identify the run, and whether it can
                                               be recorded */
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

/* Chooses the directory without communication, so that all ranks choose the same one. */
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

/* Begins the file of a process that does not communicate with the others. */
static void start_alone(struct layer *layer)
{
    int lock = -1;
    if (layer->launcher_rank < 0 ? prepare_directory(layer, &lock) : choose_directory(layer)) {
        choose_run_number(layer->run);
        open_process_file(layer);
    } else {
        layer_set_off(layer, LAYER_OFF_FAILED, true);
    }
    if (lock >= 0)
        close(lock);
}

/* ---- A ring ---------------------------------------------------------------------------------- */

void save_request(struct layer *layer)
{
    atomic_store(&layer->writer.saves, true);
    layer_wake_writer(layer);
}

static void handle_save_signal(int number)
{
    const int error = errno;
    for (struct layer *layer = layer_list; layer; layer = layer->next) {
        if (layer->options.save_signal == number)
            save_request(layer);
    }
    errno = error;
}

static bool is_not_handled(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) &&
           (action->sa_handler == SIG_DFL || action->sa_handler == handle_save_signal);
}

void save_watch_save_signal(const struct layer *layer)
{
    const int number = layer->options.save_signal;
    struct sigaction before, ours;
    if (!number || QMPIX_Tool_sigaction(number, NULL, &before, false) != MPI_SUCCESS)
        return;
    if (!is_not_handled(&before)) {
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

/* Whether there are records, even if no file was begun: in a program without MPI_Init, or whose
 * sessions have nothing in common. */
static bool has_records(const struct layer *layer)
{
    return atomic_load(&layer->recorders) && atomic_load(&layer->locations);
}

void save_end(struct layer *layer, enum trace_process_end end)
{
    enum { FOREVER = 1000000 };
    if (atomic_exchange(&layer->finished, true))
        return;
    if (!atomic_load(&layer->writer.runs) && has_records(layer) && layer_is_on(layer))
        start_alone(layer);
    layer_set_off(layer, LAYER_OFF_CLOSED, true);
    if (layer_writes(layer))
        writer_finish(layer, end, NULL, FOREVER);
}

static atomic_bool watching; /* only its exchanges matter: one thread begins, and one ends */

static bool wants_trace_signals(void)
{
    bool all = true;
    for (const struct layer *layer = layer_list; layer; layer = layer->next)
        all = all && (atomic_load(&layer->finished) || !layer_writes(layer));
    return layer_is_in_owner() && !all;
}

/* Completes the file. This function takes no lock, because the writer does the work. */
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

void save_watch_termination(void)
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
        const bool is_over = tool_world_sessions_are_over(&layer->sessions);
        save_end(layer, is_over ? TRACE_END_FINALIZE : TRACE_END_EXIT);
    }
    if (atomic_exchange(&watching, false))
        tool_end_unwatch_signals();
}

/* Completes the file after all destructors, because a library of the program may call MPI_Finalize
 * in its destructor. */
__attribute__((destructor)) static void complete_after_destructors(void)
{
    tool_end_after_destructors(complete_at_exit);
}

/* ---- A group of processes, for the archive --------------------------------------------------- */

static bool comm_barrier(void *context)
{
    const MPI_Comm *comm = context;
    return PMPI_Barrier(*comm) == MPI_SUCCESS;
}

static bool comm_broadcast(void *context, void *data, size_t size)
{
    return tool_world_broadcast(*(const MPI_Comm *)context, data, size);
}

static int size_of(MPI_Comm comm)
{
    int size = 0;
    PMPI_Comm_size(comm, &size);
    return size;
}

static bool comm_gather(void *context, const void *data, size_t size, void *all,
                        const size_t *sizes)
{
    const MPI_Comm comm = *(const MPI_Comm *)context;
    if (!sizes)
        return tool_world_send(comm, 0, data, size);
    char *at = all;
    bool good = true;
    if (size)
        memcpy(at, data, size);
    at += sizes[0];
    for (int rank = 1; rank < size_of(comm) && good; rank++) {
        good = tool_world_receive(comm, rank, at, sizes[rank]);
        at += sizes[rank];
    }
    return good;
}

static bool comm_scatter(void *context, const void *all, const size_t *sizes, void *data,
                         size_t size)
{
    const MPI_Comm comm = *(const MPI_Comm *)context;
    if (!sizes)
        return tool_world_receive(comm, 0, data, size);
    const char *at = all;
    bool good = true;
    if (size)
        memcpy(data, at, size);
    at += sizes[0];
    for (int rank = 1; rank < size_of(comm) && good; rank++) {
        good = tool_world_send(comm, rank, at, sizes[rank]);
        at += sizes[rank];
    }
    return good;
}

static bool make_group(struct trace_otf2_group *group, MPI_Comm *comm)
{
    *group = (struct trace_otf2_group){.context = comm,
                                       .barrier = comm_barrier,
                                       .broadcast = comm_broadcast,
                                       .gather = comm_gather,
                                       .scatter = comm_scatter};
    return PMPI_Comm_rank(*comm, &group->rank) == MPI_SUCCESS &&
           PMPI_Comm_size(*comm, &group->size) == MPI_SUCCESS;
}

/* ---- format=otf2: an archive of all processes ------------------------------------------------ */

struct opening {
    const struct trace_otf2 *otf2;
    char *problem;
};

static void find_otf2(void *data)
{
    struct opening *opening = data;
    char *path = tool_companion_file(TRACE_OTF2_FILE);
    opening->otf2 = trace_otf2_open(path, &opening->problem);
    free(path);
}

/* Opens the library. On failure, returns NULL and sets *problem to a message; NULL: memory is
 * exhausted. */
static const struct trace_otf2 *open_otf2(char **problem)
{
    struct opening opening = {0};
    qmpi_memory_catch_exhausted(find_otf2, &opening);
    *problem = opening.problem;
    return opening.otf2;
}

static bool lacked_otf2; /* the library was missing at the start, which one process has reported for
                            all */

void save_check_format(const struct layer *layer)
{
    char *problem = NULL;
    if (layer->options.format != FORMAT_OTF2 || open_otf2(&problem))
        return;
    lacked_otf2 = true;
    if (qmpi_launcher_reports())
        qmpi_printf("trace (layer %d): no archive in OTF2 will be made: %-s\n"
                    "  `qmpi trace` reads the files of the processes",
                    layer->tool_id, problem ? problem : "out of memory");
    free(problem);
}

static void say_no_archive(const struct layer *layer, const char *problem)
{
    qmpi_printf("trace (layer %d): rank %d: no archive in OTF2: %-s\n  `qmpi trace %s` reads the "
                "files of the processes",
                layer->tool_id, layer->rank, problem ? problem : "out of memory", layer->directory);
}

static void write_otf2_archive(struct layer *layer, MPI_Comm comm)
{
    struct trace_otf2_group group;
    char *problem = NULL;
    const bool has_file =
        atomic_load(&layer->writer.has_ended) && !atomic_load(&layer->writer.has_failed);
    const struct trace_otf2 *otf2 = open_otf2(&problem);
    enum { HAS, LACKS, WORDS };
    int mine[WORDS] = {[HAS] = otf2 != NULL, [LACKS] = !otf2}, any[WORDS] = {0};
    /* All processes need the library, because they write together. */
    if (PMPI_Allreduce(mine, any, WORDS, MPI_INT, MPI_MAX, comm) != MPI_SUCCESS || any[LACKS] ||
        !make_group(&group, &comm)) {
        if (mine[LACKS] && (any[HAS] || !lacked_otf2))
            say_no_archive(layer, problem);
        free(problem);
        return;
    }
    if (!otf2->write_together(&group, has_file ? layer->writer.path : NULL, layer->directory,
                              &problem) &&
        (problem || group.rank == 0))
        say_no_archive(layer, problem);
    free(problem);
}

/* ---- format=perfetto: a file of each process ------------------------------------------------- */

/* Describes the caller of a call; NULL: unknown. The caller of this function frees the result. */
static char *describe_caller(void *data, const struct trace_process *process,
                             const struct trace_site *site)
{
    const QMPIX_Address *found;
    char *text = NULL;
    (void)data;
    if (!site->count || site->frames[0].library >= process->library_count ||
        QMPIX_Library_describe(process->libraries[site->frames[0].library],
                               (size_t)site->frames[0].offset, &found) != MPI_SUCCESS ||
        !found->frame_count || !found->frames[0].function)
        return NULL;
    const QMPIX_Frame *frame = &found->frames[0];
    const int length = frame->file ? asprintf(&text, "%s (%s:%d)", frame->function,
                                              qmpi_text_base_name(frame->file), frame->line)
                                   : asprintf(&text, "%s", frame->function);
    return length < 0 ? NULL : text;
}

static void say_no_rank_file(const struct layer *layer, char *problem)
{
    qmpi_printf("trace (layer %d): rank %d: %-s\n  `qmpi trace %s` reads the files of the "
                "processes",
                layer->tool_id, layer->rank, problem ? problem : "out of memory", layer->directory);
    free(problem);
}

static struct trace *open_process_trace(const struct layer *layer)
{
    char *problem = NULL;
    if (layer->rank < 0 || !atomic_load(&layer->writer.has_ended) ||
        atomic_load(&layer->writer.has_failed))
        return NULL;
    struct trace *trace = trace_reader_open_in_program(layer->writer.path, &problem);
    if (!trace)
        say_no_rank_file(layer, problem);
    return trace;
}

/* Lets all traces begin at the earliest event of all processes, whose date is taken from the clock
 * of the first process, as in a file of all processes. Collective. Returns false if no process has
 * a trace. */
static bool share_time_base(struct trace *trace, MPI_Comm comm)
{
    enum { BASE, FIRST, WORDS };
    long long mine[WORDS] = {LLONG_MAX, LLONG_MAX}, all[WORDS], epoch = 0;
    int rank;
    if (PMPI_Comm_rank(comm, &rank) != MPI_SUCCESS)
        return false;
    if (trace) {
        mine[BASE] = trace->base;
        mine[FIRST] = rank;
        epoch = (long long)((uint64_t)trace->started - (uint64_t)trace->base);
    }
    if (PMPI_Allreduce(mine, all, WORDS, MPI_LONG_LONG, MPI_MIN, comm) != MPI_SUCCESS ||
        all[FIRST] == LLONG_MAX ||
        PMPI_Bcast(&epoch, 1, MPI_LONG_LONG, (int)all[FIRST], comm) != MPI_SUCCESS)
        return false;
    if (trace)
        trace_reader_share_times(trace, all[BASE], epoch);
    return true;
}

static void write_rank_file(const struct layer *layer, const struct trace_view *view,
                            const struct trace_pairs *pairs)
{
    const struct trace_export export = {view, pairs, describe_caller, NULL};
    char *target = NULL, *problem = NULL;
    if (asprintf(&target, "%s/rank-%d.perfetto-trace", layer->directory, layer->rank) < 0)
        target = NULL;
    if (!target || !trace_export_perfetto_file(&export, target, &problem))
        say_no_rank_file(layer, problem);
    QMPIX_Debug_info_release();
    free(target);
}

static void write_rank_files(struct layer *layer, MPI_Comm comm)
{
    struct trace *trace = open_process_trace(layer);
    if (share_time_base(trace, comm)) {
        struct trace_view view = {0};
        struct trace_pairs pairs;
        const bool is_open = trace && trace_view_open(&view, trace, NULL);
        const bool is_known =
            matching_find_unmatched(&pairs, is_open ? &view : NULL, layer->rank, comm);
        if (is_open)
            write_rank_file(layer, &view, is_known ? &pairs : NULL);
        else if (trace)
            say_no_rank_file(layer, NULL);
        trace_pairs_free(&pairs);
        if (trace)
            trace_view_close(&view);
    }
    trace_reader_close(trace);
}

/* ---- Any format ------------------------------------------------------------------------------ */

/* Blocks signals, because libotf2 writes files itself: the signal for a file that must not grow
 * would end the program. */
void save_write_formats(struct layer *layer, MPI_Comm comm)
{
    struct qmpi_arithmetic arithmetic;
    struct qmpi_output_signals signals;
    struct qmpi_output_room room;
    if (layer->has_no_directory)
        return;
    writer_release_descriptors(layer);
    qmpi_output_room_make(&room);
    qmpi_output_signals_block(&signals);
    qmpi_arithmetic_begin(&arithmetic);
    if (layer->options.format == FORMAT_OTF2)
        write_otf2_archive(layer, comm);
    else if (layer->options.format != FORMAT_PROCESS_FILES)
        write_rank_files(layer, comm);
    qmpi_arithmetic_end(&arithmetic);
    qmpi_output_signals_restore(&signals);
    qmpi_output_room_end(&room);
}
