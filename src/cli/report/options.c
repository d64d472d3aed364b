/* SPDX-License-Identifier: MIT */
/* qmpi report: the command line. */
#define _GNU_SOURCE
#include "cli/report/report.h"

#include "cli/cli.h"
#include "util/util.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

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
    {0},
};

static const char doc[] =
    "Print profiles that the tool profile saved as JSON, or profiles of traces that the tool trace "
    "recorded.\vFiles "
    "that single processes of one run saved are merged, provided that they "
    "have the same program, MPI and layer, were started within one minute, "
    "and contain each rank once. Other files are printed one after another.\n"
    "\n"
    "  qmpi report profile.json\n"
    "  qmpi report --filter='*allreduce*' --callsites profile.json\n"
    "  qmpi report --compare before.json after.json\n"
    "  qmpi report --compare --fail-over=10% before.json after.json\n"
    "  qmpi report --html -o profile.html profile.json\n"
    "  qmpi report --callsites qmpi-trace\n"
    "\n"
    "The exit status is 2 if a file cannot be read or written, 1 if a limit of --fail-over is "
    "exceeded, else 0.";

/* What parse fills in. */
struct parsed {
    struct report_request request;
    int format; /* enum profile_format; -1: not given */
};

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

static void check_comparison(const struct report_request *request, int count,
                             struct argp_state *state)
{
    if (count < 2)
        cli_misuse(state, "--compare requires two files or more, not %d", count);
    if (request->sections & ~(unsigned)PROFILE_COMPARE_SECTIONS)
        cli_misuse(state, "--compare supports only the tables --functions, --callsites, --waits, "
                          "--regions and --processes");
}

static void check(struct parsed *parsed, struct argp_state *state)
{
    struct report_request *request = &parsed->request;
    int count = 0;
    request->format = parsed->format < 0 ? profile_format_of(request->output)
                                         : (enum profile_format)parsed->format;
    if (request->format == PROFILE_HTML && !profile_html_is_supported())
        cli_misuse(state, "HTML requires zlib, without which this command was built");
    if (request->format == PROFILE_HTML && request->sections)
        cli_misuse(state, "HTML output always contains all tables");
    while (request->files && request->files[count])
        count++;
    if (!count)
        cli_misuse(state, "missing file: qmpi report [OPTION...] PATH...");
    if (request->compare)
        check_comparison(request, count, state);
    else if (request->limits)
        cli_misuse(state, "--fail-over requires --compare");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    static const char *const orders[] = {"time", "calls", "bytes", "name", NULL};
    struct parsed *parsed = state->input;
    struct report_request *request = &parsed->request;
    switch (key) {
    case 'f':
        parsed->format = choose("format", argument, profile_format_names, state);
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
        check(parsed, state);
        return 0;
    default:
        if (key < KEY_SECTION || key > KEY_SECTION + 10)
            return ARGP_ERR_UNKNOWN;
        request->sections |= 1u << (key - KEY_SECTION);
        return 0;
    }
}

struct report_request report_read_request(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "PATH...", doc, NULL, NULL, NULL};
    struct parsed parsed = {.request = {.top = DEFAULT_TOP}, .format = -1};
    cli_parse(&argp, argc, argv, 0, NULL, &parsed);
    return parsed.request;
}
