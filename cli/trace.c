/* SPDX-License-Identifier: MIT */
/* qmpi trace prints, checks and converts traces that the tool trace has recorded. It needs no MPI,
 * because it only reads files. */
#define _GNU_SOURCE
#include "tools/trace/export/trace.h"
#include "cli/cli.h"
#include "cli/program.h"
#include "loader/loader.h"
#include "symbols/symbols.h"
#include "tools/profile/result/profile.h"
#include "tools/trace/print/print.h"
#include "util/util.h"

#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The command line ------------------------------------------------------------------------ */

enum action { DO_SUMMARY, DO_TEXT, DO_CHECK, DO_CONVERT };

struct request {
    enum action action;
    bool has_action; /* an option gives the action */
    const struct format *format;
    bool is_merge, repair;
    const char *output; /* NULL for standard output */
    const char *ranks;  /* the argument of --ranks, or NULL for all */
    struct qmpi_value_set rank_set;
    bool has_begin, has_end;
    int64_t begin, end;
    char **paths; /* ends with NULL */
};

enum { KEY_TEXT = 256, KEY_TO, KEY_RANKS, KEY_BEGIN, KEY_END, KEY_CHECK, KEY_REPAIR };

static int write_archive(const struct trace_export *export, const struct request *request);

#define FORMAT_NAMES "perfetto|csv|otf2"

/* A format of --to. Either `print` or `write` is set. */
static const struct format {
    const char *name;
    bool (*print)(FILE *stream, const struct trace_export *export); /* to a file */
    /* Writes a directory. Returns the exit status of qmpi. */
    int (*write)(const struct trace_export *export, const struct request *request);
    bool is_binary;     /* A terminal cannot show it. */
    bool has_arrows;    /* It contains the messages as pairs of a sender and a receiver. */
    bool has_own_times; /* It contains the recorded times, which --repair cannot correct. */
} formats[] = {
    {.name = "perfetto", .print = trace_export_perfetto, .is_binary = true, .has_arrows = true},
    {.name = "csv", .print = trace_export_csv},
    {.name = "otf2", .write = write_archive, .is_binary = true, .has_own_times = true},
};
enum { FORMATS = sizeof formats / sizeof *formats };
static const struct format *const to_perfetto = &formats[0];

static const struct argp_option options[] = {
    {"text", KEY_TEXT, NULL, 0, "print a timeline that fits the terminal", 1},
    {"check", KEY_CHECK, NULL, 0,
     "check that the trace is consistent; print the first difference, with exit status 1", 1},
    {"to", KEY_TO, FORMAT_NAMES, 0,
     "write the trace in this format, to standard output or to the file of --output", 1},
    {"output", 'o', "FILE", 0,
     "write to this file, or to this directory for otf2; an existing trace is replaced", 1},
    {"ranks", KEY_RANKS, "SET", 0, "only these ranks: '0,4-7', '8-', 'every 16'", 2},
    {"begin", KEY_BEGIN, "TIME", 0, "only from this time on: '1.5s', '20ms'", 2},
    {"end", KEY_END, "TIME", 0, "only up to this time", 2},
    {"repair", KEY_REPAIR, NULL, 0,
     "correct times so that no message arrives before it was sent (controlled logical clock)", 2},
    {0},
};

static const char doc[] =
    "Print, check and convert traces that the tool trace recorded.\vPATH is the directory of a "
    "trace, the file traces.otf2 in it, or the file of one process. Times count from the first "
    "event of the trace. `merge` writes one file for Perfetto (https://ui.perfetto.dev) from "
    "directories or files that contain parts of one run.\n"
    "\n"
    "  qmpi trace qmpi-trace\n"
    "  qmpi trace --text --begin=1.5s --end=1.6s qmpi-trace\n"
    "  qmpi trace --to=perfetto -o run.perfetto-trace qmpi-trace\n"
    "  qmpi trace merge --repair -o run.perfetto-trace node1/qmpi-trace node2/qmpi-trace\n"
    "\n"
    "The exit status is 2 if something cannot be read or written, 1 if --check finds a "
    "difference, else 0.";

static int64_t read_time(const char *option, const char *text, struct argp_state *state)
{
    uint64_t nanoseconds = 0;
    if (!qmpi_value_time(text, &nanoseconds))
        cli_misuse(state, "--%s must be %s, not '%s'", option, QMPI_VALUE_TIME, text);
    return (int64_t)nanoseconds;
}

static void read_ranks(struct request *request, const char *text, struct argp_state *state)
{
    free(request->rank_set.ranges);
    request->ranks = text;
    if (!qmpi_value_set_read(text, &request->rank_set))
        cli_misuse(state, "--ranks must be %s, not '%s'", QMPI_VALUE_SET, text);
}

static const struct format *read_format(const char *text, struct argp_state *state)
{
    if (!strcmp(text, "json"))
        cli_misuse(state, "--to=json is no longer possible: use --to=perfetto");
    for (int i = 0; i < FORMATS; i++) {
        if (!strcmp(formats[i].name, text))
            return &formats[i];
    }
    cli_misuse(state, "--to must be one of " FORMAT_NAMES ", not '%s'", text);
    return NULL;
}

static void set_action(struct request *request, enum action action, struct argp_state *state)
{
    if (request->has_action && request->action != action)
        cli_misuse(state, "only one of --text, --check and --to is possible");
    request->has_action = true;
    request->action = action;
}

static void check_merge(struct request *request, struct argp_state *state)
{
    if (request->has_action && (request->action != DO_CONVERT || request->format != to_perfetto))
        cli_misuse(state, "merge always writes a file for Perfetto");
    if (!request->output)
        cli_misuse(state, "merge requires --output=FILE");
    request->action = DO_CONVERT;
    request->format = to_perfetto;
}

static void check_request(struct request *request, struct argp_state *state)
{
    if (request->paths && *request->paths && !strcmp(*request->paths, "merge")) {
        request->is_merge = true;
        request->paths++;
        check_merge(request, state);
    }
    if (!request->paths || !*request->paths)
        cli_misuse(state, "missing path: qmpi trace [OPTION...] PATH");
    if (!request->is_merge && request->paths[1])
        cli_misuse(state, "only one path is possible, not '%s'; `qmpi trace merge` takes several",
                   request->paths[1]);
    if (request->output && request->action != DO_CONVERT)
        cli_misuse(state, "--output requires --to");
    if (request->output && !*request->output)
        cli_misuse(state, "--output requires a name");
    if (request->action == DO_CONVERT && request->format->write && !request->output)
        cli_misuse(state, "--to=%s requires --output=DIRECTORY", request->format->name);
    if (request->repair && request->action == DO_CONVERT && request->format->has_own_times)
        cli_misuse(state, "--to=%s writes the times as they are, without --repair",
                   request->format->name);
    if (request->repair && request->action == DO_CHECK)
        cli_misuse(state, "--check examines the times as they are, without --repair");
    if (request->has_begin && request->has_end && request->end < request->begin)
        cli_misuse(state, "--end is before --begin");
}

static error_t parse_trace_option(int key, char *argument, struct argp_state *state)
{
    struct request *request = state->input;
    switch (key) {
    case KEY_TEXT:
        set_action(request, DO_TEXT, state);
        return 0;
    case KEY_CHECK:
        set_action(request, DO_CHECK, state);
        return 0;
    case KEY_TO:
        set_action(request, DO_CONVERT, state);
        request->format = read_format(argument, state);
        return 0;
    case 'o':
        request->output = argument;
        return 0;
    case KEY_RANKS:
        read_ranks(request, argument, state);
        return 0;
    case KEY_BEGIN:
        request->begin = read_time("begin", argument, state);
        request->has_begin = true;
        return 0;
    case KEY_END:
        request->end = read_time("end", argument, state);
        request->has_end = true;
        return 0;
    case KEY_REPAIR:
        request->repair = true;
        return 0;
    case ARGP_KEY_ARGS:
        request->paths = state->argv + state->next;
        return 0;
    case ARGP_KEY_END:
        check_request(request, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static struct request read_command_line(int argc, char **argv)
{
    static const struct argp argp = {
        options, parse_trace_option, "PATH\nmerge PATH...", doc, NULL, NULL, NULL};
    struct request request = {0};
    cli_parse(&argp, argc, argv, 0, NULL, &request);
    return request;
}

/* ---- The input ------------------------------------------------------------------------------- */

/* If there are several paths with parts of one run, symbolic links to their files are put into one
 * directory while the trace is opened. */

static void remove_folder(char *folder)
{
    DIR *stream = folder ? opendir(folder) : NULL;
    for (const struct dirent *entry; stream && (entry = readdir(stream));)
        unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream) {
        closedir(stream);
        rmdir(folder);
    }
    free(folder);
}

static bool link_file(const char *folder, const char *path, int number)
{
    char *real = realpath(path, NULL);
    char *name = qmpi_format("%s/%d" TRACE_FILE_SUFFIX, folder, number);
    const bool good = real && symlink(real, name) == 0;
    if (!good)
        qmpi_printf("cannot read %s: %s\nhint: name the directory of a trace, or the file of a "
                    "process",
                    path, strerror(errno));
    free(real);
    free(name);
    return good;
}

static bool is_trace_file(const char *name)
{
    const size_t length = strlen(name), suffix = strlen(TRACE_FILE_SUFFIX);
    return length > suffix && !strcmp(name + length - suffix, TRACE_FILE_SUFFIX);
}

static bool link_path(const char *folder, const char *path, int *number)
{
    char *directory = trace_reader_directory(path);
    DIR *stream = opendir(directory);
    const int before = *number;
    bool good = true;
    if (!stream) {
        good = link_file(folder, directory, (*number)++);
        free(directory);
        return good;
    }
    for (const struct dirent *entry; good && (entry = readdir(stream));) {
        if (!is_trace_file(entry->d_name))
            continue;
        char *file = qmpi_format("%s/%s", directory, entry->d_name);
        good = link_file(folder, file, (*number)++);
        free(file);
    }
    closedir(stream);
    if (good && *number == before) {
        qmpi_printf("%s: this directory contains no trace files\nhint: name the directory that "
                    "the tool trace wrote",
                    directory);
        good = false;
    }
    free(directory);
    return good;
}

/* Returns a directory with links to the files of all paths. On failure, prints a message and
 * returns NULL. */
static char *gather_paths(char **paths)
{
    const char *place = getenv("TMPDIR");
    char *folder = qmpi_format("%s/qmpi-trace-XXXXXX", place && *place ? place : "/tmp");
    int number = 0;
    if (!mkdtemp(folder)) {
        qmpi_printf("cannot create a directory: %s: %s\nhint: set TMPDIR to a directory that can "
                    "be written",
                    folder, strerror(errno));
        free(folder);
        return NULL;
    }
    for (; *paths; paths++) {
        if (link_path(folder, *paths, &number))
            continue;
        remove_folder(folder);
        return NULL;
    }
    return folder;
}

/* Opens the trace. On failure, prints a message and returns NULL. */
static struct trace *open_input(char **paths)
{
    char *problem = NULL;
    char *folder = paths[1] ? gather_paths(paths) : NULL;
    if (paths[1] && !folder)
        return NULL;
    struct trace *trace = trace_reader_open(folder ? folder : *paths, &problem);
    remove_folder(folder);
    if (!trace)
        qmpi_printf("%-s", problem ? problem : "out of memory");
    free(problem);
    return trace;
}

/* Returns an array that tells for each process whether --ranks contains its rank. The caller frees
 * the array. If --ranks contains no rank of the trace, prints a message and returns NULL. */
static unsigned char *find_processes(const struct trace *trace, const struct request *request)
{
    unsigned char *processes = qmpi_allocate(trace->process_count + 1, 1);
    size_t count = 0;
    for (size_t i = 0; i < trace->process_count; i++) {
        const int rank = trace->processes[i].rank;
        processes[i] = !request->ranks ||
                       (rank >= 0 && qmpi_value_set_has(&request->rank_set, (uint64_t)rank));
        count += processes[i];
    }
    if (count || !request->ranks)
        return processes;
    char *ranks = print_rank_list(trace, NULL);
    qmpi_printf("--ranks=%s: the trace has no such rank\nhint: its ranks are %s", request->ranks,
                ranks);
    free(ranks);
    free(processes);
    return NULL;
}

/* ---- Call sites ------------------------------------------------------------------------------ */

/* Returns the function and the line that the debug information gives, or NULL. The caller frees the
 * text. */
static char *look_up_site(const char *path, uint64_t offset)
{
    QMPIX_Frame *frames = NULL;
    char *text = NULL;
    const int count = symbols_find_in(path, offset, &frames);
    if (count > 0 && frames->file && frames->function)
        text = qmpi_format("%s (%s:%d)", frames->function, qmpi_text_base_name(frames->file),
                           frames->line);
    else if (count > 0 && frames->function)
        text = qmpi_copy(frames->function);
    for (int i = 0; i < count; i++) {
        free((char *)(uintptr_t)frames[i].function);
        free((char *)(uintptr_t)frames[i].file);
    }
    free(frames);
    return text;
}

static uint64_t hash_site(const char *path, uint64_t offset)
{
    uint64_t key = offset;
    for (; *path; path++)
        key = qmpi_table_mix_two(key, (unsigned char)*path);
    return key;
}

/* Describes a call site for struct trace_export. `data` is a table of the texts (char *) that are
 * already known. Its keys are hashes of call sites. */
static char *describe_site(void *data, const struct trace_process *process,
                           const struct trace_site *site)
{
    struct qmpi_table *texts = data;
    const struct trace_frame *frame = site->frames;
    if (!site->count || frame->library >= process->library_count)
        return NULL;
    const char *path = process->libraries[frame->library];
    char **place = qmpi_table_put(texts, hash_site(path, frame->offset));
    if (!place)
        return NULL;
    if (!*place && program_is_unchanged(path, process->started / 1000000000))
        *place = look_up_site(path, frame->offset);
    if (!*place)
        *place = qmpi_copy("");
    return **place ? strdup(*place) : NULL;
}

static void free_text(void *data, uint64_t key, void *value)
{
    (void)data;
    (void)key;
    free(*(char **)value);
}

static void free_site_texts(struct qmpi_table *texts)
{
    qmpi_table_each(texts, free_text, NULL);
    qmpi_table_free(texts);
    symbols_close();
}

/* ---- The output ------------------------------------------------------------------------------ */

/* Returns whether the output may be written to a path. This is the case if there is nothing at the
 * path, or a device or a FIFO, or a file that qmpi has written. Otherwise, prints a message. */
static bool may_replace(const char *path)
{
    char bytes[512];
    struct stat status;
    if (stat(path, &status) != 0 || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
        return true;
    if (S_ISDIR(status.st_mode)) {
        qmpi_printf("cannot write %s: it is a directory\nhint: name a file with --output", path);
        return false;
    }
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    const ssize_t size = descriptor >= 0 ? read(descriptor, bytes, sizeof bytes) : -1;
    if (descriptor >= 0)
        close(descriptor);
    if (size >= 0 && trace_export_is_ours(bytes, (size_t)size))
        return true;
    qmpi_printf("cannot write %s: the file exists, and was not written by qmpi\n"
                "hint: name another file with --output, or remove this one",
                path);
    return false;
}

/* Prints why a result is incomplete: files cannot be read, or memory is exhausted. Returns the exit
 * status. */
static int fail_incomplete(const struct trace *trace)
{
    const int error = trace_reader_error(trace);
    if (error)
        qmpi_printf("cannot read all events: %s\n"
                    "hint: check that the files are still there, and `ulimit -n`",
                    strerror(error));
    else
        qmpi_printf("out of memory");
    return 2;
}

static int write_to_output(const struct trace_export *export, const struct request *request)
{
    if (request->format->is_binary && isatty(STDOUT_FILENO)) {
        qmpi_printf("--to=%s is not text: it is not written to a terminal\n"
                    "hint: name a file with --output",
                    request->format->name);
        return 2;
    }
    errno = 0;
    if (!request->format->print(stdout, export))
        return fail_incomplete(export->view->trace);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    qmpi_printf("cannot write: %s", strerror(errno ? errno : EIO));
    return 2;
}

static int write_to_file(const struct trace_export *export, const struct request *request)
{
    struct profile_output output;
    char *problem = NULL;
    int fifo;
    if (!may_replace(request->output) || !cli_open_fifo(request->output, &fifo))
        return 2;
    const bool good =
        profile_output_open(&output, request->output, &problem) &&
        profile_output_close(&output, request->format->print(output.stream, export), &problem);
    cli_close_fifo(fifo);
    if (!good)
        qmpi_printf("%s\nhint: name another file with --output",
                    problem ? problem : "out of memory");
    free(problem);
    return good ? 0 : 2;
}

static int write_archive(const struct trace_export *export, const struct request *request)
{
    char *folder = qmpi_library_abi_folder(cli_tools_folder()), *problem = NULL;
    char *path = qmpi_format("%s/" TRACE_OTF2_FILE, folder ? folder : cli_tools_folder());
    const struct trace_otf2 *otf2 = trace_otf2_open(path, &problem);
    const bool good = otf2 && otf2->write(export->view->trace, request->output,
                                          &export->view->selection, &problem);
    if (!good)
        qmpi_printf("%-s", problem ? problem : "out of memory");
    free(problem);
    free(path);
    free(folder);
    return good ? 0 : 2;
}

static int write_trace(const struct trace_export *export, const struct request *request)
{
    if (request->format->write)
        return request->format->write(export, request);
    return request->output ? write_to_file(export, request) : write_to_output(export, request);
}

/* The least latency that --repair gives a message, in nanoseconds. It is less than that of any
 * network and of shared memory. */
enum { LEAST_LATENCY = 100 };

static int finish_output(const struct trace *trace, bool complete)
{
    if (!complete)
        return fail_incomplete(trace);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    qmpi_printf("cannot write: %s", strerror(errno ? errno : EIO));
    return 2;
}

/* ---- --check --------------------------------------------------------------------------------- */

static void print_difference(const struct trace *trace,
                             const struct trace_check_difference *difference)
{
    char room[TRACE_NAME_SIZE];
    const struct trace_process *process = &trace->processes[difference->process];
    cli_print("%s, %s%" PRId64 ".%09" PRId64 " s", trace_name_process(process, room),
              difference->time < 0 ? "-" : "", labs(difference->time) / 1000000000,
              labs(difference->time) % 1000000000);
    if (difference->function != TRACE_NONE)
        cli_print(", %s", trace_name_function(process, difference->function));
    cli_print(": %s\n", difference->text ? difference->text : "");
}

/* Tells which events were not compared. */
static void print_omissions(const struct trace_check *check)
{
    if (check->partial)
        cli_print("%" PRIu64 " process%s recorded only parts, or %s not reached MPI_Finalize: "
                  "messages and collectives with %s are not compared\n",
                  check->partial, check->partial > 1 ? "es have" : " has",
                  check->partial > 1 ? "have" : "has", check->partial > 1 ? "them" : "it");
    if (check->interrupted)
        cli_print("%" PRIu64 " process%s not recorded all the time: messages and collectives with "
                  "%s are compared up to where the first ones may be missing\n",
                  check->interrupted, check->interrupted > 1 ? "es have" : " has",
                  check->interrupted > 1 ? "them" : "it");
    if (check->selective)
        cli_print("%" PRIu64 " process%s recorded only chosen functions: messages with %s are not "
                  "compared\n",
                  check->selective, check->selective > 1 ? "es have" : " has",
                  check->selective > 1 ? "them" : "it");
}

static int check_trace(const struct trace_view *view)
{
    struct trace_check check;
    if (!trace_check_run(&check, view)) {
        trace_check_free(&check);
        return fail_incomplete(view->trace);
    }
    if (check.differences)
        print_difference(view->trace, &check.first);
    else
        cli_print("no difference");
    if (check.differences > 1)
        cli_print("this is the first of %" PRIu64 " differences", check.differences);
    if (check.differences != 1)
        cli_print("; compared: %" PRIu64 " events, %" PRIu64 " messages, %" PRIu64 " collectives\n",
                  check.events, check.messages, check.collectives);
    print_omissions(&check);
    const int status = finish_output(view->trace, true);
    trace_check_free(&check);
    return status ? status : check.differences > 0;
}

/* ---- --to and merge -------------------------------------------------------------------------- */

static void print_corrections(const struct trace_corrections *corrections)
{
    if (!corrections->messages && !corrections->collectives)
        qmpi_printf("no time had to be corrected");
    else
        qmpi_printf("times were corrected: %llu receives and %llu ends of collectives, by at most "
                    "%s",
                    (unsigned long long)corrections->messages,
                    (unsigned long long)corrections->collectives,
                    units_time((double)corrections->largest * 1e-9));
}

static void print_arrows(const struct trace *trace, const struct trace_pairs *pairs)
{
    if (!pairs->reversed)
        return;
    char *bound = trace->has_bound ? qmpi_format("; clocks may differ by %s",
                                                 units_time((double)trace->bound * 1e-9))
                                   : qmpi_copy("; clocks were not compared");
    qmpi_printf("%llu messages arrive before they were sent, by at most %s%-s: no arrows are drawn "
                "for them\nhint: `qmpi trace merge --repair` corrects the times",
                (unsigned long long)pairs->reversed, units_time((double)pairs->worst * 1e-9),
                bound);
    free(bound);
}

static int convert_trace(struct trace_view *view, const struct request *request)
{
    const bool has_arrows = request->format->has_arrows;
    struct trace_pairs pairs;
    struct qmpi_table texts;
    int status = 2;
    qmpi_table_start(&texts, sizeof(char *));
    if (!has_arrows || trace_pairs_find(&pairs, view)) {
        const struct trace_export export = {view, has_arrows ? &pairs : NULL, describe_site,
                                            &texts};
        status = write_trace(&export, request);
    } else {
        fail_incomplete(view->trace);
    }
    if (has_arrows && !status)
        print_arrows(view->trace, &pairs);
    if (has_arrows)
        trace_pairs_free(&pairs);
    free_site_texts(&texts);
    return status;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int carry_out_request(struct trace_view *view, const struct request *request)
{
    switch (request->action) {
    case DO_CHECK:
        return check_trace(view);
    case DO_CONVERT:
        return convert_trace(view, request);
    case DO_TEXT:
        return finish_output(
            view->trace,
            print_timeline(stdout, view, profile_text_width(STDOUT_FILENO), isatty(STDOUT_FILENO)));
    default:
        return finish_output(view->trace, print_summary(stdout, view));
    }
}

/* Checks that the trace does not end before --begin, because an empty result would not show this
 * mistake. */
static bool check_begin(const struct trace *trace, const struct trace_corrections *corrections,
                        const struct request *request)
{
    const struct trace_view whole = {.trace = trace, .corrections = corrections};
    const int64_t end = trace_view_end(&whole);
    if (!request->has_begin || request->begin <= end)
        return true;
    qmpi_printf("--begin=%s: the trace has ended before, at %s\n"
                "hint: times count from the first event of the trace; `qmpi trace %s` shows how "
                "long it is",
                units_time((double)request->begin * 1e-9), units_time((double)end * 1e-9),
                *request->paths);
    return false;
}

static int use_view(const struct trace *trace, const struct request *request,
                    const unsigned char *processes)
{
    const struct trace_cursor_selection selection = {.processes = processes,
                                                     .has_begin = request->has_begin,
                                                     .has_end = request->has_end,
                                                     .begin = request->begin,
                                                     .end = request->end};
    /* Times are corrected in the whole trace, of which the output may be a part. */
    struct trace_view all = {0}, view = {0};
    struct trace_corrections *corrections = NULL;
    bool good = trace_view_open(&view, trace, &selection);
    if (good && request->repair) {
        good = trace_view_open(&all, trace, NULL);
        corrections = good ? trace_corrections_find(&all, LEAST_LATENCY) : NULL;
        view.corrections = corrections;
        good = corrections;
    }
    int status = 2;
    if (!good)
        fail_incomplete(trace);
    else if (check_begin(trace, corrections, request))
        status = carry_out_request(&view, request);
    if (corrections && !status)
        print_corrections(corrections);
    trace_corrections_free(corrections);
    if (all.trace)
        trace_view_close(&all);
    trace_view_close(&view);
    return status;
}

int cli_trace(int argc, char **argv)
{
    struct request request = read_command_line(argc, argv);
    struct trace *trace = open_input(request.paths);
    int status = 2;
    if (trace) {
        unsigned char *processes = find_processes(trace, &request);
        if (request.action != DO_SUMMARY && *trace->warnings)
            qmpi_printf("%-s", trace->warnings);
        if (processes)
            status = use_view(trace, &request, processes);
        free(processes);
        if (trace_reader_error(trace) && status != 2)
            status = fail_incomplete(trace);
        if (trace->is_partial)
            status = 2;
    }
    trace_reader_close(trace);
    free(request.rank_set.ranges);
    return status;
}
