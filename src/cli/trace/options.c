/* SPDX-License-Identifier: MIT */
/* qmpi trace: the command line. */
#define _GNU_SOURCE
#include "cli/trace/trace.h"

#include "cli/cli.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_TEXT = 256, KEY_TO, KEY_RANKS, KEY_BEGIN, KEY_END, KEY_CHECK, KEY_REPAIR };

static const char *const formats[] = {"perfetto", "json", "csv", "otf2", NULL};

static const struct argp_option options[] = {
    {"text", KEY_TEXT, NULL, 0, "print a timeline that fits the terminal", 1},
    {"check", KEY_CHECK, NULL, 0,
     "check that the trace is consistent; print the first difference, with exit status 1", 1},
    {"to", KEY_TO, "perfetto|json|csv|otf2", 0,
     "write the trace in this format, to standard output or to the file of --output", 1},
    {"output", 'o', "FILE", 0,
     "write to this file; a directory for otf2. It is replaced if it is a trace", 1},
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

/* What parse fills in. */
struct parsed {
    struct trace_request request;
    bool has_action;
};

/* ---- Values ---------------------------------------------------------------------------------- */

static int64_t read_time(const char *option, const char *text, struct argp_state *state)
{
    static const struct {
        const char *name;
        double factor;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end = NULL;
    const double number = isdigit((unsigned char)*text) ? strtod(text, &end) : -1;
    if (end && end - text == (ptrdiff_t)strspn(text, "0123456789.")) {
        for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
            if (!strcmp(end, units[i].name) && number * units[i].factor < 9e18)
                return (int64_t)(number * units[i].factor + 0.5);
        }
        if (!*end && number == 0)
            return 0;
    }
    cli_misuse(state, "--%s must be a number with its unit, as in 250us, 20ms or 1.5s, not '%s'",
               option, text);
    return 0;
}

/* As in options of tools, where ',' ends an option; here it may separate numbers, too. */
static void read_ranks(struct trace_request *request, const char *text, struct argp_state *state)
{
    char *copy = qmpi_copy(text);
    for (char *at = copy; (at = strchr(at, ',')); at++)
        *at = ';';
    free(request->rank_set.ranges);
    request->ranks = text;
    if (!qmpi_number_set_read(copy, &request->rank_set))
        cli_misuse(state,
                   "--ranks must be ranks and ranges such as 0,4-7,16-, or 'every 16', not '%s'",
                   text);
    free(copy);
}

static enum trace_format read_format(const char *text, struct argp_state *state)
{
    int format = 0;
    while (formats[format] && strcmp(formats[format], text) != 0)
        format++;
    if (!formats[format])
        cli_misuse(state, "--to must be perfetto, json, csv or otf2, not '%s'", text);
    return (enum trace_format)format;
}

/* ---- The command line ------------------------------------------------------------------------ */

static void set_action(struct parsed *parsed, enum trace_action action, struct argp_state *state)
{
    if (parsed->has_action && parsed->request.action != action)
        cli_misuse(state, "only one of --text, --check and --to is possible");
    parsed->has_action = true;
    parsed->request.action = action;
}

static void check_merge(struct parsed *parsed, struct argp_state *state)
{
    struct trace_request *request = &parsed->request;
    if (parsed->has_action &&
        (request->action != TRACE_CONVERT || request->format != FORMAT_PERFETTO))
        cli_misuse(state, "merge always writes a file for Perfetto");
    if (!request->output)
        cli_misuse(state, "merge requires --output=FILE");
    request->action = TRACE_CONVERT;
    request->format = FORMAT_PERFETTO;
}

static void check(struct parsed *parsed, struct argp_state *state)
{
    struct trace_request *request = &parsed->request;
    if (request->paths && *request->paths && !strcmp(*request->paths, "merge")) {
        request->is_merge = true;
        request->paths++;
        check_merge(parsed, state);
    }
    if (!request->paths || !*request->paths)
        cli_misuse(state, "missing path: qmpi trace [OPTION...] PATH");
    if (!request->is_merge && request->paths[1])
        cli_misuse(state, "only one path is possible, not '%s'; `qmpi trace merge` takes several",
                   request->paths[1]);
    if (request->output && request->action != TRACE_CONVERT)
        cli_misuse(state, "--output requires --to");
    if (request->action == TRACE_CONVERT && request->format == FORMAT_OTF2 && !request->output)
        cli_misuse(state, "--to=otf2 requires --output=DIRECTORY");
    if (request->repair && request->action == TRACE_CONVERT && request->format == FORMAT_OTF2)
        cli_misuse(state, "archives in OTF2 have the times as they are, without --repair");
    if (request->repair && request->action == TRACE_CHECK)
        cli_misuse(state, "--check examines the times as they are, without --repair");
    if (request->has_begin && request->has_end && request->end < request->begin)
        cli_misuse(state, "--end is before --begin");
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct parsed *parsed = state->input;
    struct trace_request *request = &parsed->request;
    switch (key) {
    case KEY_TEXT:
        set_action(parsed, TRACE_TEXT, state);
        return 0;
    case KEY_CHECK:
        set_action(parsed, TRACE_CHECK, state);
        return 0;
    case KEY_TO:
        set_action(parsed, TRACE_CONVERT, state);
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
        check(parsed, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

struct trace_request trace_read_request(int argc, char **argv)
{
    static const struct argp argp = {options, parse, "PATH\nmerge PATH...", doc, NULL, NULL, NULL};
    struct parsed parsed = {0};
    cli_parse(&argp, argc, argv, 0, NULL, &parsed);
    return parsed.request;
}

void trace_free_request(struct trace_request *request)
{
    free(request->rank_set.ranges);
}
