/* SPDX-License-Identifier: MIT */
/* qmpi report prints results that the tool profile saved, and profiles of traces. It merges files
 * that each contain some of the processes of one run, and compares runs. It needs no MPI, because
 * it only reads files. */
#define _GNU_SOURCE
#include "cli/cli.h"
#include "cli/program.h"
#include "symbols/symbols.h"
#include "tools/profile/result/profile.h"
#include "tools/trace/export/trace.h"
#include "tools/trace/profile/profile.h"
#include "util/util.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct report_request {
    enum profile_output_format format;
    const char *output; /* NULL for standard output */
    bool compare;
    struct compare_limit *limits; /* the limits of --fail-over */
    int limit_count;
    enum profile_sort sort;
    const char *filter; /* NULL for all functions */
    int top;
    struct profile_thresholds thresholds;
    unsigned sections; /* the tables that options name, as bits, or 0 for all */
    bool path;         /* find the critical path of traces */
    char **files;      /* They end with NULL. */
};

/* ---- The command line: limits ---------------------------------------------------------------- */

static const char *find_limit_name(const char *text, size_t length)
{
    for (int i = 0; profile_compare_limit_names[i]; i++) {
        if (strlen(profile_compare_limit_names[i]) == length &&
            !strncmp(profile_compare_limit_names[i], text, length))
            return profile_compare_limit_names[i];
    }
    return NULL;
}

/* Reads the argument of --fail-over, such as "time:10%,mpi:20%". A mere "10%" limits the time. */
static struct compare_limit *read_limits(const char *text, int *count, struct argp_state *state)
{
    struct compare_limit *limits = NULL;
    char *copy = qmpi_copy(text), *rest = copy, *part;
    *count = 0;
    while ((part = strsep(&rest, ","))) {
        const char *colon = strchr(part, ':');
        struct compare_limit limit = {profile_compare_limit_names[0], 0};
        if (colon)
            limit.name = find_limit_name(part, (size_t)(colon - part));
        if (!limit.name)
            cli_misuse(
                state,
                "--fail-over: unknown figure in '%s': time, mpi, efficiency, load-balance, "
                "communication, serialisation, transfer, calls, bytes and memory can have a limit",
                part);
        if (!qmpi_value_percent(colon ? colon + 1 : part, &limit.percent))
            cli_misuse(state,
                       "--fail-over must be a percentage such as 10%%, or several such as "
                       "time:10%%,mpi:20%%, not '%s'",
                       text);
        limits = qmpi_memory_grow(limits, *count, sizeof *limits);
        limits[(*count)++] = limit;
    }
    free(copy);
    return limits;
}

/* ---- The command line: options --------------------------------------------------------------- */

enum { DEFAULT_TOP = 20 };
enum {
    KEY_COMPARE = 256,
    KEY_HTML,
    KEY_FAIL_OVER,
    KEY_FILTER,
    KEY_TOP,
    KEY_THRESHOLD,
    KEY_INIT_THRESHOLD,
    KEY_PATH,
    KEY_SECTION
};

static const struct argp_option options[] = {
    {"format", 'f', "text|json|csv|html", 0,
     "output format (default: by the name of the output file)", 1},
    {"output", 'o', "FILE", 0, "write to this file instead of standard output", 1},
    {"html", KEY_HTML, NULL, 0, "the same as --format=html: a page for a browser", 1},
    {"compare", KEY_COMPARE, NULL, 0,
     "print the differences between two or more runs, of which the first is the base", 1},
    {"fail-over", KEY_FAIL_OVER, "LIMITS", 0,
     "with --compare: exit status 1 if a run is worse than the first one by more than these "
     "limits: '10%' for the time, or several, as in 'time:10%,mpi:20%'",
     1},
    {"path", KEY_PATH, NULL, 0,
     "for traces, also find the critical path, which gives serialisation and transfer efficiency",
     1},
    {"sort", 's', "time|calls|bytes|name", 0, "sort order of the rows (default: time)", 2},
    {"filter", KEY_FILTER, "GLOB", 0,
     "only MPI functions whose names match, ignoring case: '*send*'", 2},
    {"top", KEY_TOP, "N", 0, "print at most N rows in each text table (default: 20; 0: all)", 2},
    {"threshold", KEY_THRESHOLD, "PERCENT", 0,
     "report problems that take at least this percentage of the run (default: 5)", 2},
    {"init-threshold", KEY_INIT_THRESHOLD, "PERCENT", 0,
     "the same for MPI_Init and MPI_Finalize, if they take at least 1 s (default: 20)", 2},
    {NULL, 0, NULL, 0, "Text tables (default: all):", 3},
    {"functions", KEY_SECTION + 0, NULL, 0, "time, calls and bytes by function", 3},
    {"callsites", KEY_SECTION + 1, NULL, 0, "time, calls and bytes by call site", 3},
    {"histograms", KEY_SECTION + 2, NULL, 0, "calls by size and by time", 3},
    {"matrix", KEY_SECTION + 3, NULL, 0, "bytes and messages between ranks", 3},
    {"waits", KEY_SECTION + 4, NULL, 0, "waiting: for peers, and before collectives (sync=yes)", 3},
    {"communicators", KEY_SECTION + 5, NULL, 0, "by communicator", 3},
    {"files", KEY_SECTION + 6, NULL, 0, "MPI-IO by file", 3},
    {"regions", KEY_SECTION + 7, NULL, 0, "by region that the program marked", 3},
    {"processes", KEY_SECTION + 8, NULL, 0, "by rank: times, host, memory", 3},
    {"in-flight", KEY_SECTION + 9, NULL, 0, "calls in progress when the profile was saved", 3},
    {"windows", KEY_SECTION + 10, NULL, 0, "efficiency over time", 3},
    {"outside", KEY_SECTION + 11, NULL, 0, "time outside MPI, by the calls before and after it", 3},
    {0},
};

static const char doc[] =
    "Print profiles that the tool profile saved as JSON, or profiles of traces that the tool trace "
    "recorded.\vThe files that the processes of one run saved separately are merged. Files belong "
    "to one run if they are of the same MPI job or program, have the same MPI and layer, were "
    "started within one minute, and contain each rank once. Other files are printed one after "
    "another.\n"
    "\n"
    "  qmpi report profile.json\n"
    "  qmpi report --filter='*allreduce*' --callsites profile.json\n"
    "  qmpi report --compare before.json after.json\n"
    "  qmpi report --compare --fail-over=10% before.json after.json\n"
    "  qmpi report --html -o profile.html profile.json\n"
    "  qmpi report --callsites qmpi-trace\n"
    "  qmpi report --path qmpi-trace\n"
    "\n"
    "The exit status is 2 if a file cannot be read or written, 1 if a limit of --fail-over is "
    "exceeded, else 0.";

struct parsed {
    struct report_request request;
    int format;   /* enum profile_output_format, or -1 if it is not given */
    bool has_top; /* whether --top is given */
};

/* Returns the index of a word in a list that ends with NULL. Any other word is a usage error. */
static int read_choice(const char *option, const char *word, const char *const *words,
                       struct argp_state *state)
{
    for (int i = 0; words[i]; i++) {
        if (!strcmp(word, words[i]))
            return i;
    }
    char *choices = qmpi_copy(words[0]);
    for (int i = 1; words[i]; i++) {
        char *more = qmpi_format("%s%s%s", choices, words[i + 1] ? ", " : " or ", words[i]);
        free(choices);
        choices = more;
    }
    cli_misuse(state, "--%s must be %s, not '%s'", option, choices, word);
    free(choices);
    return 0;
}

static int read_top(const char *text, struct argp_state *state)
{
    uint64_t rows = 0;
    if (!qmpi_value_whole(text, 0, INT_MAX, &rows))
        cli_misuse(state, "--top must be a number of rows, 0 or more, not '%s'", text);
    return (int)rows;
}

static int read_percentage(const char *text, const char *option, struct argp_state *state)
{
    int percent = 0;
    if (!qmpi_value_whole_percent(text, &percent))
        cli_misuse(state, "--%s must be %s, not '%s'", option, QMPI_VALUE_PERCENT, text);
    return percent;
}

static void check_comparison(const struct report_request *request, int count,
                             struct argp_state *state)
{
    if (count < 2)
        cli_misuse(state, "--compare requires two files or more, not %d", count);
    if (request->sections & ~(unsigned)PROFILE_COMPARE_SECTIONS)
        cli_misuse(state, "--compare supports only the tables --functions, --callsites, --waits, "
                          "--regions and --processes");
}

/* Refuses options that have an effect only on text, because other formats contain everything. */
static void check_format(const struct parsed *parsed, struct argp_state *state)
{
    static const char *const names[] = {
        [PROFILE_JSON] = "JSON", [PROFILE_CSV] = "CSV", [PROFILE_HTML] = "HTML"};
    const enum profile_output_format format = parsed->request.format;
    if (format == PROFILE_TEXT)
        return;
    if (parsed->request.sections)
        cli_misuse(state, "%s output always contains all tables", names[format]);
    if (parsed->has_top)
        cli_misuse(state, "%s output always contains all rows: --top requires text output",
                   names[format]);
}

static void check_request(struct parsed *parsed, struct argp_state *state)
{
    struct report_request *request = &parsed->request;
    int count = 0;
    request->format = parsed->format < 0 ? profile_output_format_of(request->output)
                                         : (enum profile_output_format)parsed->format;
    if (request->format == PROFILE_HTML && !profile_html_is_supported())
        cli_misuse(state, "HTML requires zlib, without which this command was built");
    check_format(parsed, state);
    while (request->files && request->files[count])
        count++;
    if (!count)
        cli_misuse(state, "missing file: qmpi report [OPTION...] PATH...");
    if (request->compare)
        check_comparison(request, count, state);
    else if (request->limits)
        cli_misuse(state, "--fail-over requires --compare");
}

static error_t parse_report_option(int key, char *argument, struct argp_state *state)
{
    static const char *const orders[] = {"time", "calls", "bytes", "name", NULL};
    struct parsed *parsed = state->input;
    struct report_request *request = &parsed->request;
    switch (key) {
    case 'f':
        parsed->format = read_choice("format", argument, profile_output_format_names, state);
        return 0;
    case 'o':
        request->output = argument;
        return 0;
    case KEY_HTML:
        parsed->format = PROFILE_HTML;
        return 0;
    case KEY_COMPARE:
        request->compare = true;
        return 0;
    case KEY_FAIL_OVER:
        free(request->limits);
        request->limits = read_limits(argument, &request->limit_count, state);
        return 0;
    case 's':
        request->sort = (enum profile_sort)read_choice("sort", argument, orders, state);
        return 0;
    case KEY_FILTER:
        request->filter = argument;
        return 0;
    case KEY_TOP:
        request->top = read_top(argument, state);
        parsed->has_top = true;
        return 0;
    case KEY_THRESHOLD:
        request->thresholds.any = read_percentage(argument, "threshold", state);
        return 0;
    case KEY_INIT_THRESHOLD:
        request->thresholds.init = read_percentage(argument, "init-threshold", state);
        return 0;
    case KEY_PATH:
        request->path = true;
        return 0;
    case ARGP_KEY_ARGS:
        request->files = state->argv + state->next;
        return 0;
    case ARGP_KEY_END:
        check_request(parsed, state);
        return 0;
    default:
        if (key < KEY_SECTION || key > KEY_SECTION + 11)
            return ARGP_ERR_UNKNOWN;
        request->sections |= 1u << (key - KEY_SECTION);
        return 0;
    }
}

/* Reads the command line. Errors of use end the command. The caller frees `limits`. */
static struct report_request read_request(int argc, char **argv)
{
    static const struct argp argp = {options, parse_report_option, "PATH...", doc, NULL, NULL,
                                     NULL};
    struct parsed parsed = {.request = {.top = DEFAULT_TOP}, .format = -1};
    cli_parse(&argp, argc, argv, 0, NULL, &parsed);
    return parsed.request;
}

/* ---- Source lines ---------------------------------------------------------------------------- */

/* Finds the functions and lines at an address, for profile_programs_resolve. When a signal ends a
 * process, the tool profile saves the addresses without looking up their names. */
static int find_places(const struct profile_result *result, const struct profile_frame *frame,
                       struct profile_frame **places)
{
    QMPIX_Frame *found = NULL;
    struct tm begin = {0};
    if (!strptime(result->begin, "%Y-%m-%dT%H:%M:%S", &begin) ||
        !program_is_unchanged(frame->module, timegm(&begin)))
        return 0;
    const int count = symbols_find_in(frame->module, frame->offset, &found);
    *places = count ? qmpi_allocate((size_t)count, sizeof **places) : NULL;
    for (int i = 0; i < count; i++)
        (*places)[i] = (struct profile_frame){.function = (char *)(uintptr_t)found[i].function,
                                              .file = (char *)(uintptr_t)found[i].file,
                                              .line = found[i].line};
    free(found);
    return count;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* The result of one file, or of several files of one run. */
struct run {
    const char *name; /* the first file */
    int files;
    struct profile_result *result;
};
struct runs {
    struct run *all;
    int count;
    bool complete; /* false if a file could not be read completely, or lacks the critical path that
                      --path requires; a message was printed about it */
};

static bool has_suffix(const char *text, const char *suffix)
{
    const size_t length = strlen(text), size = strlen(suffix);
    return length >= size && !strcmp(text + length - size, suffix);
}

/* Returns whether a path is the directory of a trace, its archive, or the file of a process. */
static bool is_trace_path(const char *path)
{
    struct stat status;
    return has_suffix(path, TRACE_FILE_SUFFIX) ||
           !strcmp(qmpi_text_base_name(path), TRACE_OTF2_ANCHOR) ||
           (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
}

static bool has_path(const struct profile_result *result)
{
    struct profile_efficiency efficiency;
    return profile_efficiency_find(result, NULL, &efficiency) && efficiency.has_path;
}

/* Returns the result of a path for which is_trace_path returns true. On failure, returns NULL and
 * sets *problem to a message. *has_all tells whether all files of the trace could be read;
 * otherwise, a message is printed. */
static struct profile_result *read_trace(const char *path, bool with_path, bool *has_all,
                                         char **problem)
{
    struct trace *trace = trace_reader_open(path, problem);
    if (!trace)
        return NULL;
    *has_all = !trace->is_partial;
    if (*trace->warnings)
        qmpi_printf("%-s", trace->warnings);
    char *reason = with_path ? trace_profile_explain_path(trace) : NULL;
    if (reason)
        qmpi_printf("%s: %s", path, reason);
    free(reason);
    struct profile_result *result = trace_profile_make(trace, with_path, problem);
    trace_reader_close(trace);
    return result;
}

/* Returns the result in a file. On failure, prints a message and returns NULL. `*has_all` becomes
 * false on failure, and also if a part of a trace cannot be read, or if --path is given but the
 * file is a profile without a critical path. In these cases, a message is printed, too. */
static struct profile_result *read_file(const char *path, bool with_path, bool *has_all)
{
    char *problem = NULL;
    const bool is_of_trace = is_trace_path(path);
    bool is_whole = true;
    struct profile_result *result = is_of_trace ? read_trace(path, with_path, &is_whole, &problem)
                                                : profile_json_read(path, &problem);
    const bool lacks_path = result && !is_of_trace && with_path && !has_path(result);
    if (!result)
        qmpi_printf("%-s", problem);
    *has_all = result && is_whole && !lacks_path;
    if (lacks_path)
        qmpi_printf("%s: this is a profile, which has no critical path\n"
                    "hint: record a trace with 'qmpi run -t trace', and give --path the trace",
                    path);
    free(problem);
    return result;
}

/* Returns the run to which a file belongs, or -1 if the file begins a new run. If runs are
 * compared, all files of one run must precede those of the next run, because a file of a later run
 * could also fit an earlier one. */
static int find_run(const struct profile_merge_tree *combinations, int count, bool compare,
                    const struct profile_result *result)
{
    for (int i = compare && count ? count - 1 : 0; i < count; i++) {
        if (profile_merge_tree_fits(&combinations[i], result))
            return i;
    }
    return -1;
}

static void warn_of_loss(struct runs *runs, const char *path)
{
    qmpi_printf("%s: out of memory: this file and others of its run may be missing", path);
    runs->complete = false;
}

/* Reads the files. Merges each file as soon as it is read, so that few of them are in memory. */
static struct profile_merge_tree *combine_files(const struct report_request *request,
                                                struct runs *runs, int count)
{
    struct profile_merge_tree *combinations = qmpi_allocate((size_t)count, sizeof *combinations);
    for (int i = 0; i < count; i++) {
        char *path = request->files[i];
        bool has_all;
        struct profile_result *result = read_file(path, request->path, &has_all);
        runs->complete = runs->complete && has_all;
        if (!result)
            continue;
        int run = find_run(combinations, runs->count, request->compare, result);
        if (run < 0) {
            run = runs->count++;
            runs->all[run] = (struct run){.name = path};
        }
        runs->all[run].files++;
        if (!profile_merge_tree_add(&combinations[run], result))
            warn_of_loss(runs, path);
    }
    return combinations;
}

static void prepare_result(const struct report_request *request, const struct run *run)
{
    struct profile_result *result = run->result;
    result->thresholds = request->thresholds;
    profile_programs_resolve(result, find_places);
    if (request->filter && !profile_result_filter(result, request->filter))
        qmpi_printf("%s: no function matches '%s'", run->name, request->filter);
    profile_result_sort(result, request->sort);
}

/* Reads the files, merges those of one run, and prepares the results to be printed. */
static struct runs read_runs(const struct report_request *request)
{
    int count = 0;
    while (request->files[count])
        count++;
    struct runs runs = {qmpi_allocate((size_t)count, sizeof *runs.all), 0, true};
    struct profile_merge_tree *combinations = combine_files(request, &runs, count);
    for (int i = 0; i < runs.count; i++) {
        if (!profile_merge_tree_finish(&combinations[i]))
            warn_of_loss(&runs, runs.all[i].name);
        runs.all[i].result = combinations[i].parts[0];
        prepare_result(request, &runs.all[i]);
    }
    free(combinations);
    return runs;
}

static void free_runs(struct runs *runs)
{
    for (int i = 0; i < runs->count; i++)
        profile_result_free(runs->all[i].result);
    free(runs->all);
}

/* Returns the runs as tools/profile/result needs them. The caller frees the array. */
static struct profile_run *name_runs(const struct runs *runs)
{
    struct profile_run *named = qmpi_allocate((size_t)runs->count, sizeof *named);
    for (int i = 0; i < runs->count; i++)
        named[i] = (struct profile_run){runs->all[i].name, runs->all[i].result, runs->all[i].files};
    return named;
}

/* ---- The comparison -------------------------------------------------------------------------- */

/* Returns whether a figure with a limit is one of those that only the critical path gives. */
static bool needs_path(const char *name)
{
    return !strcmp(name, "serialisation") || !strcmp(name, "transfer");
}

/* Returns whether all figures with a limit are known in all runs. Otherwise, prints a message. */
static bool are_limits_known(const struct compare_result *comparison)
{
    for (int i = 0; i < comparison->limit_count; i++) {
        const char *name = comparison->limits[i].name;
        for (int run = 1; run < comparison->run_count; run++) {
            if (!isnan(compare_worsening(comparison, name, run)))
                continue;
            qmpi_printf("%s: --fail-over=%s: the figure is unknown in this run or in the first "
                        "one\nhint: %s",
                        comparison->runs[run].name, name,
                        needs_path(name)
                            ? "record traces of the runs with `qmpi run -t trace`, and compare the "
                              "traces with --path"
                            : "profile the runs again with this version of qmpi");
            return false;
        }
    }
    return true;
}

/* Compares the runs. If this is not possible, or if a figure with a limit is unknown in a run,
 * prints a message and returns NULL. */
static struct compare_result *make_comparison(const struct runs *runs,
                                              const struct report_request *request)
{
    if (runs->count < 2) {
        qmpi_printf("--compare: all files belong to one run\n"
                    "hint: give the files of two runs or more");
        return NULL;
    }
    if (request->format == PROFILE_TEXT && runs->count > PROFILE_COMPARE_TEXT_MOST) {
        qmpi_printf("--compare: the files belong to %d runs, but text output supports at most %d\n"
                    "hint: choose another output format, such as --format=csv",
                    runs->count, PROFILE_COMPARE_TEXT_MOST);
        return NULL;
    }
    struct profile_run *named = name_runs(runs);
    struct compare_result *comparison = profile_compare(named, runs->count);
    free(named);
    if (!comparison) {
        qmpi_printf("out of memory");
        return NULL;
    }
    comparison->limits = request->limits;
    comparison->limit_count = request->limit_count;
    if (are_limits_known(comparison))
        return comparison;
    profile_compare_free(comparison);
    return NULL;
}

/* Prints a message for each limit that a run exceeds. Returns the exit status, which is 1 if there
 * is such a limit, and 0 otherwise. */
static int check_limits(const struct compare_result *comparison)
{
    int status = 0;
    for (int i = 0; i < comparison->limit_count; i++) {
        const struct compare_limit *limit = &comparison->limits[i];
        for (int run = 1; run < comparison->run_count; run++) {
            if (!compare_exceeds(comparison, limit, run))
                continue;
            status = 1;
            char *percent = qmpi_format("%.1f", compare_worsening(comparison, limit->name, run));
            qmpi_printf("%s: %s is %s %% worse than in %s; the limit is %g %%",
                        comparison->runs[run].name, limit->name, percent, comparison->runs->name,
                        limit->percent);
            free(percent);
        }
    }
    return status;
}

/* ---- Printing -------------------------------------------------------------------------------- */

struct document {
    const struct report_request *request;
    const struct runs *runs;
    const struct compare_result *comparison; /* NULL if the runs are not compared */
};

/* Prints the name of the first file of a run, and the number of further files. */
static void print_title(FILE *stream, const struct run *run)
{
    char *shown = qmpi_message("%s", run->name);
    fputs(shown, stream);
    free(shown);
    if (run->files > 1)
        fprintf(stream, " and %d more", run->files - 1);
    fprintf(stream, ":\n");
}

static bool print_texts(FILE *stream, const struct document *it,
                        const struct profile_layout *layout)
{
    const unsigned sections = it->request->sections ? it->request->sections : PROFILE_EVERYTHING;
    bool good = true;
    for (int i = 0; i < it->runs->count && good; i++) {
        if (i)
            fputc('\n', stream);
        if (it->runs->count > 1)
            print_title(stream, &it->runs->all[i]);
        good = profile_text_print(stream, it->runs->all[i].result, sections, layout);
    }
    return good;
}

static bool print_page(FILE *stream, const struct runs *runs)
{
    struct profile_run *named = name_runs(runs);
    const bool good = profile_html_print(stream, named);
    free(named);
    return good;
}

static bool print_comparison(FILE *stream, const struct document *it,
                             const struct profile_layout *layout)
{
    const struct report_request *request = it->request;
    const unsigned sections = request->sections ? request->sections : PROFILE_COMPARE_SECTIONS;
    if (request->format == PROFILE_HTML)
        return profile_compare_print_html(stream, it->comparison);
    if (request->format == PROFILE_TEXT)
        return profile_compare_print_text(stream, it->comparison, sections, request->sort, layout);
    return request->format == PROFILE_CSV ? profile_compare_print_csv(stream, it->comparison)
                                          : profile_compare_print_json(stream, it->comparison);
}

static bool print_document(FILE *stream, const struct document *it)
{
    const struct report_request *request = it->request;
    const struct profile_layout layout = {
        request->top, request->output ? PROFILE_TEXT_WIDTH : profile_text_width(STDOUT_FILENO)};
    if (it->comparison)
        return print_comparison(stream, it, &layout);
    if (request->format == PROFILE_HTML)
        return print_page(stream, it->runs);
    if (request->format == PROFILE_TEXT)
        return print_texts(stream, it, &layout);
    return request->format == PROFILE_CSV ? profile_csv_print(stream, it->runs->all->result)
                                          : profile_json_print(stream, it->runs->all->result);
}

/* Prints a document to the file of --output or to standard output. Returns the exit status. */
static int write_output(const struct document *it)
{
    const char *path = it->request->output;
    struct profile_output output;
    char *problem = NULL;
    int fifo = -1;
    bool good;
    if (path) {
        if (!cli_open_fifo(path, &fifo))
            return 2;
        good = profile_output_open(&output, path, &problem) &&
               profile_output_close(&output, print_document(output.stream, it), &problem);
        cli_close_fifo(fifo);
    } else {
        errno = 0;
        const bool whole = print_document(stdout, it);
        good = whole && fflush(stdout) == 0 && !ferror(stdout);
        if (!good && whole)
            problem = qmpi_format("cannot write: %s", strerror(errno ? errno : EIO));
    }
    if (!good)
        qmpi_printf("%s%-s", problem ? problem : "out of memory",
                    path ? "\nhint: name another file with --output" : "");
    free(problem);
    return good ? 0 : 2;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* Compares the runs and prints the comparison. Returns the exit status. */
static int compare_runs(const struct report_request *request, const struct runs *runs)
{
    struct compare_result *comparison = make_comparison(runs, request);
    const struct document document = {request, runs, comparison};
    int status = comparison ? write_output(&document) : 2;
    if (!status)
        status = check_limits(comparison);
    profile_compare_free(comparison);
    return status;
}

/* Prints the runs. Returns the exit status. */
static int print_runs(const struct report_request *request, const struct runs *runs)
{
    const struct document document = {request, runs, NULL};
    if (runs->count <= 1 || request->format == PROFILE_TEXT)
        return runs->count ? write_output(&document) : 0;
    qmpi_printf(request->format == PROFILE_HTML
                    ? "the files belong to %d runs, but a page contains several only if it "
                      "compares them\nhint: give the files of only one run, or --compare"
                    : "the files belong to %d runs, but a JSON or CSV file can contain only one\n"
                      "hint: give the files of only one run, or --compare",
                runs->count);
    return 2;
}

int cli_report(int argc, char **argv)
{
    struct report_request request = read_request(argc, argv);
    struct runs runs = read_runs(&request);
    int status = runs.complete ? 0 : 2;
    if (!request.compare)
        status = print_runs(&request, &runs) ? 2 : status;
    else if (runs.complete)
        status = compare_runs(&request, &runs);
    free_runs(&runs);
    free(request.limits);
    return status;
}
