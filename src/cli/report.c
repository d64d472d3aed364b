/* SPDX-License-Identifier: MIT */
/*
 * qmpi report: prints what profile saved, again and otherwise; brings single processes' files
 * together; compares two. Needs no MPI: it only reads files.
 */
#define _GNU_SOURCE
#include "cli/cli.h"

#include "cli/report_compare.h"
#include "profile/profile.h"
#include "symbols/symbols.h"
#include "util/util.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DEFAULT_TOP = 20 };
enum {
    KEY_COMPARE = 256,
    KEY_HTML,
    KEY_FAIL_OVER,
    KEY_FILTER,
    KEY_TOP,
    KEY_THRESHOLD,
    KEY_INIT_THRESHOLD,
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
     "with --compare: exit status 1 if a run is worse than the first by more than '10%', or more "
     "than 'time:10%,mpi:20%'",
     1},
    {"sort", 's', "time|calls|bytes|name", 0, "sort order of the rows (default: time)", 2},
    {"filter", KEY_FILTER, "GLOB", 0,
     "only MPI functions whose names match, ignoring case: '*send*'", 2},
    {"top", KEY_TOP, "N", 0, "print at most N rows in each text table (default: 20; 0: all)", 2},
    {"threshold", KEY_THRESHOLD, "PERCENT", 0,
     "a problem is a finding from this part of the run on (default: 5)", 2},
    {"init-threshold", KEY_INIT_THRESHOLD, "PERCENT", 0,
     "the same for MPI_Init and MPI_Finalize, of at least 1 s (default: 20)", 2},
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
    {0},
};

static const char doc[] =
    "Print profiles that the tool profile saved as JSON.\vFiles "
    "that single processes of one run saved are merged, provided that they "
    "have the same program, MPI and layer, were started within one minute, "
    "and contain each rank once. Other files are printed one after another.\n"
    "\n"
    "  qmpi report profile.json\n"
    "  qmpi report --filter='*allreduce*' --callsites profile.json\n"
    "  qmpi report --compare before.json after.json\n"
    "  qmpi report --compare --fail-over=10% before.json after.json\n"
    "  qmpi report --html -o profile.html profile.json\n"
    "\n"
    "The exit status is 2 if a file cannot be read or written, 1 if a limit of --fail-over is "
    "exceeded, else 0.";

struct request {
    int format; /* enum profile_format; -1: not given */
    const char *output;
    bool compare;
    struct compare_limit *limits; /* of --compare */
    int limit_count;
    enum profile_sort sort;
    const char *filter;
    int top;
    struct profile_thresholds thresholds;
    unsigned sections;                     /* 0: none was named */
    char **files;                          /* ends with NULL */
    struct profile_comparison *comparison; /* made of the files; NULL: none */
};

/* ---- The command line ------------------------------------------------------------------------ */

/* The place of a word in a list that ends with NULL, or an error of use. */
static int choose(const char *option, const char *word, const char *const *words,
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

/* A number from `least` to `most`, or an error of use that names what must be given. */
static int read_number(const char *text, int least, int most, const char *option, const char *what,
                       struct argp_state *state)
{
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (end == text || *end || errno || value < least || value > most)
        cli_misuse(state, "--%s must be %s, not '%s'", option, what, text);
    return (int)value;
}

static int read_percentage(const char *text, const char *option, struct argp_state *state)
{
    return read_number(text, 1, 100, option, "a percentage from 1 to 100", state);
}

static void check_comparison(const struct request *request, int count, struct argp_state *state)
{
    if (count < 2)
        cli_misuse(state, "--compare requires two files or more, not %d", count);
    if (request->sections & ~(unsigned)PROFILE_COMPARE_SECTIONS)
        cli_misuse(state, "--compare supports only the tables --functions, --callsites, --waits, "
                          "--regions and --processes");
}

static void check(struct request *request, struct argp_state *state)
{
    int count = 0;
    if (request->format < 0)
        request->format = profile_format_of(request->output);
    if (request->format == PROFILE_HTML && !profile_html_is_supported())
        cli_misuse(state, "HTML requires zlib, without which this command was built");
    if (request->format == PROFILE_HTML && request->sections)
        cli_misuse(state, "HTML output always contains all tables");
    while (request->files && request->files[count])
        count++;
    if (!count)
        cli_misuse(state, "missing file: qmpi report [OPTION...] FILE...");
    if (request->compare)
        check_comparison(request, count, state);
    else if (request->limits)
        cli_misuse(state, "--fail-over requires --compare");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    static const char *const orders[] = {"time", "calls", "bytes", "name", NULL};
    struct request *request = state->input;
    switch (key) {
    case 'f':
        request->format = choose("format", argument, profile_format_names, state);
        return 0;
    case 'o':
        request->output = argument;
        return 0;
    case KEY_HTML:
        request->format = PROFILE_HTML;
        return 0;
    case KEY_COMPARE:
        request->compare = true;
        return 0;
    case KEY_FAIL_OVER:
        free(request->limits);
        request->limits = report_read_limits(argument, &request->limit_count, state);
        return 0;
    case 's':
        request->sort = (enum profile_sort)choose("sort", argument, orders, state);
        return 0;
    case KEY_FILTER:
        request->filter = argument;
        return 0;
    case KEY_TOP:
        request->top =
            read_number(argument, 0, INT_MAX, "top", "a number of rows, 0 or more", state);
        return 0;
    case KEY_THRESHOLD:
        request->thresholds.any = read_percentage(argument, "threshold", state);
        return 0;
    case KEY_INIT_THRESHOLD:
        request->thresholds.init = read_percentage(argument, "init-threshold", state);
        return 0;
    case ARGP_KEY_ARGS:
        request->files = state->argv + state->next;
        return 0;
    case ARGP_KEY_END:
        check(request, state);
        return 0;
    default:
        if (key < KEY_SECTION || key > KEY_SECTION + 10)
            return ARGP_ERR_UNKNOWN;
        request->sections |= 1u << (key - KEY_SECTION);
        return 0;
    }
}

/* A file, or several files of one run. */
struct loaded {
    const char *path; /* the first one's */
    int files;
    struct profile_result *result; /* NULL: it cannot be read, or another one took it over */
};

/* ---- Reading --------------------------------------------------------------------------------- */

/* What a program was when the run began, not what has been built since. */
static bool is_unchanged(const char *module, const char *begin)
{
    struct tm parts = {0};
    struct stat status;
    return stat(module, &status) == 0 && S_ISREG(status.st_mode) &&
           strptime(begin, "%Y-%m-%dT%H:%M:%S", &parts) && status.st_mtime <= timegm(&parts);
}

/* Processes that end by a signal leave looking up addresses to us. */
static int find_places(const struct profile_result *result, const struct profile_frame *frame,
                       struct profile_frame **places)
{
    QMPIX_Frame *found = NULL;
    if (!is_unchanged(frame->module, result->begin))
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

/* NULL: it has been said why not. */
static struct profile_result *read_file(const char *path)
{
    char *problem;
    struct profile_result *result = profile_read_json(path, &problem);
    if (!result)
        qmpi_printf("%-s", problem);
    free(problem);
    return result;
}

/* Adds the second one to the first one. False: it is lost, which has been said. */
static bool combine(struct loaded *loaded, struct loaded *other)
{
    const bool good = profile_combine(loaded->result, other->result);
    if (good)
        loaded->files++;
    else
        qmpi_printf("%s: skipped: out of memory", other->path);
    other->result = NULL;
    return good;
}

/* Brings the files of a run together. Runs that are compared have their files one after the other:
 * those of the next run could fit, too. False: some are missing. */
static bool combine_all(const struct request *request, struct loaded *loaded, int count)
{
    bool good = true;
    for (int i = 0; i < count; i++) {
        for (int k = i + 1; k < count && loaded[i].result; k++) {
            if (loaded[k].result && profile_combine_fits(loaded[i].result, loaded[k].result))
                good = combine(&loaded[i], &loaded[k]) && good;
            else if (loaded[k].result && request->compare)
                break;
        }
    }
    return good;
}

/* Returns how many results there are. */
static int prepare(const struct request *request, struct loaded *loaded, int count)
{
    int left = 0;
    for (int i = 0; i < count; i++) {
        struct profile_result *result = loaded[i].result;
        if (!result)
            continue;
        left++;
        result->thresholds = request->thresholds;
        profile_frames_resolve(result, find_places);
        if (request->filter && !profile_filter(result, request->filter))
            qmpi_printf("%s: no function matches '%s'", loaded[i].path, request->filter);
        profile_result_sort(result, request->sort);
    }
    return left;
}

/* ---- Printing -------------------------------------------------------------------------------- */

/* Which files it is, where it is not all of them. */
static void print_title(FILE *stream, const struct loaded *loaded)
{
    fprintf(stream, "%s", loaded->path);
    if (loaded->files > 1)
        fprintf(stream, " and %d more", loaded->files - 1);
    fprintf(stream, ":\n");
}

static bool print_texts(FILE *stream, const struct request *request, const struct loaded *loaded,
                        int count, int left, const struct profile_layout *layout)
{
    const unsigned sections = request->sections ? request->sections : PROFILE_EVERYTHING;
    bool good = true, first = true;
    for (int i = 0; i < count && good; i++) {
        if (!loaded[i].result)
            continue;
        if (!first)
            fputc('\n', stream);
        first = false;
        if (left > 1)
            print_title(stream, &loaded[i]);
        good = profile_print_text(stream, loaded[i].result, sections, layout);
    }
    return good;
}

static bool print_page(FILE *stream, const struct loaded *loaded, int count)
{
    struct profile_named *runs = qmpi_allocate((size_t)count, sizeof *runs);
    size_t left = 0;
    for (int i = 0; i < count; i++) {
        if (loaded[i].result)
            runs[left++] =
                (struct profile_named){loaded[i].path, loaded[i].result, loaded[i].files};
    }
    const bool good = profile_print_html(stream, runs, left);
    free(runs);
    return good;
}

static bool print_comparison(FILE *stream, const struct request *request,
                             const struct profile_layout *layout)
{
    const unsigned sections = request->sections ? request->sections : PROFILE_COMPARE_SECTIONS;
    if (request->format == PROFILE_TEXT)
        return profile_print_comparison(stream, request->comparison, sections, request->sort,
                                        layout);
    return request->format == PROFILE_CSV
               ? profile_print_comparison_csv(stream, request->comparison)
               : profile_print_comparison_json(stream, request->comparison);
}

static bool print(FILE *stream, const struct request *request, const struct loaded *loaded,
                  int count, int left)
{
    const struct profile_layout layout = {
        request->top, request->output ? PROFILE_TEXT_WIDTH : profile_text_width(STDOUT_FILENO)};
    if (request->format == PROFILE_HTML)
        return print_page(stream, loaded, count);
    if (request->comparison)
        return print_comparison(stream, request, &layout);
    if (request->format == PROFILE_TEXT)
        return print_texts(stream, request, loaded, count, left, &layout);
    while (!loaded->result) /* the only one */
        loaded++;
    return request->format == PROFILE_CSV ? profile_print_csv(stream, loaded->result)
                                          : profile_print_json(stream, loaded->result);
}

/* Opening a FIFO without a reader would block. */
static bool is_unread_fifo(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISFIFO(status.st_mode))
        return false;
    const int descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor >= 0)
        close(descriptor);
    return descriptor < 0 && errno == ENXIO;
}

/* The exit status. */
static int write_output(const struct request *request, const struct loaded *loaded, int count,
                        int left)
{
    struct profile_output output;
    char *problem = NULL;
    bool good;
    if (request->output && is_unread_fifo(request->output)) {
        good = false;
        problem = qmpi_message("cannot write %s: the FIFO has no reader", request->output);
    } else if (request->output) {
        good = profile_output_open(&output, request->output, &problem) &&
               profile_output_close(&output, print(output.stream, request, loaded, count, left),
                                    &problem);
    } else {
        errno = 0;
        good =
            print(stdout, request, loaded, count, left) && fflush(stdout) == 0 && !ferror(stdout);
        if (!good)
            problem = qmpi_format("cannot write: %s", strerror(errno ? errno : EIO));
    }
    if (!good)
        qmpi_printf("%s%-s", problem ? problem : "out of memory",
                    request->output ? "\nhint: name another file with --output" : "");
    free(problem);
    return good ? 0 : 2;
}

/* Compares the runs, and prints that. Returns the exit status. */
static int compare(struct request *request, const struct loaded *loaded, int count, int left)
{
    struct profile_named *runs = qmpi_allocate((size_t)count, sizeof *runs);
    int status = 2, found = 0;
    for (int i = 0; i < count; i++) {
        if (loaded[i].result)
            runs[found++] =
                (struct profile_named){loaded[i].path, loaded[i].result, loaded[i].files};
    }
    if (left < 2)
        qmpi_printf(
            "--compare: all files belong to one run\nhint: give the files of two runs or more");
    else if (request->format == PROFILE_TEXT && left > PROFILE_COMPARE_TEXT_MOST)
        qmpi_printf("--compare: the files belong to %d runs, but text can contain only %d\n"
                    "hint: choose another output format, such as --format=csv",
                    left, PROFILE_COMPARE_TEXT_MOST);
    else
        request->comparison = report_compare(runs, left, request->limits, request->limit_count);
    if (request->comparison) {
        status = write_output(request, loaded, count, left);
        if (!status)
            status = report_check_limits(request->comparison);
    }
    profile_comparison_free(request->comparison);
    free(runs);
    return status;
}

/* Prints what there is. Returns the exit status. */
static int print_all(const struct request *request, const struct loaded *loaded, int count,
                     int left)
{
    if (left <= 1 || request->format == PROFILE_TEXT)
        return left ? write_output(request, loaded, count, left) : 0;
    qmpi_printf(request->format == PROFILE_HTML
                    ? "the files belong to %d runs, but a page contains several only if it "
                      "compares them\nhint: give the files of only one run, or --compare"
                    : "the files belong to %d runs, but a JSON or CSV file can contain only one\n"
                      "hint: give the files of only one run, or --compare",
                left);
    return 2;
}

int cli_report(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "FILE...", doc, NULL, NULL, NULL};
    struct request request = {.format = -1, .top = DEFAULT_TOP};
    cli_parse(&argp, argc, argv, 0, NULL, &request);
    int count = 0, status = 0;
    while (request.files[count])
        count++;
    struct loaded *loaded = qmpi_allocate((size_t)count, sizeof *loaded);
    for (int i = 0; i < count; i++) {
        loaded[i] = (struct loaded){request.files[i], 1, read_file(request.files[i])};
        if (!loaded[i].result)
            status = 2;
    }
    if (!combine_all(&request, loaded, count))
        status = 2;
    const int left = prepare(&request, loaded, count);
    if (!request.compare)
        status = print_all(&request, loaded, count, left) ? 2 : status;
    else if (!status) /* all files are there */
        status = compare(&request, loaded, count, left);
    for (int i = 0; i < count; i++)
        profile_result_free(loaded[i].result);
    free(loaded);
    free(request.limits);
    return status;
}
