/* SPDX-License-Identifier: MIT */
/* qmpi trace: prints, checks and converts what the tool trace has recorded. Needs no MPI: it only
 * reads files. */
#define _GNU_SOURCE
#include "cli/trace/trace.h"

#include "cli/cli.h"
#include "profile/profile.h"
#include "util/util.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The least latency of a message, in nanoseconds: less than that of any network, and of messages
 * in shared memory. */
enum { LEAST_LATENCY = 100 };

static int fail_memory(void)
{
    qmpi_printf("out of memory");
    return 2;
}

static int finish_output(bool complete)
{
    if (!complete)
        return fail_memory();
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    qmpi_printf("cannot write: %s", strerror(errno ? errno : EIO));
    return 2;
}

/* ---- --check --------------------------------------------------------------------------------- */

static void print_difference(const struct trace *trace, const struct trace_difference *difference)
{
    char room[TRACE_NAME_SIZE];
    const struct trace_process *process = &trace->processes[difference->process];
    cli_print("%s, %s%" PRId64 ".%09" PRId64 " s", trace_process_name(process, room),
              difference->time < 0 ? "-" : "", labs(difference->time) / 1000000000,
              labs(difference->time) % 1000000000);
    if (difference->function != TRACE_NONE)
        cli_print(", %s", trace_function_name(process, difference->function));
    cli_print(": %s\n", difference->text ? difference->text : "");
}

/* What was not compared. */
static void print_partial(const struct trace_check *check)
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
        return fail_memory();
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
    print_partial(&check);
    const int status = finish_output(true);
    trace_check_free(&check);
    return status ? status : check.differences > 0;
}

/* ---- --to and merge -------------------------------------------------------------------------- */

static void print_repair(const struct trace_repair *repair)
{
    const struct repair_figures figures = trace_repair_figures(repair);
    if (!figures.messages && !figures.collectives)
        qmpi_printf("no time had to be corrected");
    else
        qmpi_printf("times were corrected: %llu receives and %llu ends of collectives, by at most "
                    "%s",
                    (unsigned long long)figures.messages, (unsigned long long)figures.collectives,
                    units_time((double)figures.largest * 1e-9));
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

static int convert(struct trace_view *view, const struct trace_request *request)
{
    const bool has_arrows = request->format == FORMAT_PERFETTO || request->format == FORMAT_JSON;
    struct trace_pairs pairs;
    struct trace_sites *sites = trace_sites_make();
    int status = 2;
    if (!has_arrows || trace_pairs_find(&pairs, view)) {
        const struct trace_export export = {view, has_arrows ? &pairs : NULL, trace_sites_describe,
                                            sites};
        status = trace_write(&export, request);
    } else {
        fail_memory();
    }
    if (has_arrows && !status)
        print_arrows(view->trace, &pairs);
    if (has_arrows)
        trace_pairs_free(&pairs);
    trace_sites_free(sites);
    return status;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int act(struct trace_view *view, const struct trace_request *request)
{
    switch (request->action) {
    case TRACE_CHECK:
        return check_trace(view);
    case TRACE_CONVERT:
        return convert(view, request);
    case TRACE_TEXT:
        return finish_output(trace_print_timeline(stdout, view, profile_text_width(STDOUT_FILENO),
                                                  isatty(STDOUT_FILENO)));
    default:
        return finish_output(trace_print_summary(stdout, view));
    }
}

/* A begin after the end of the trace is a mistake, as an empty result would not tell. */
static bool begins_in(const struct trace *trace, const struct trace_repair *repair,
                      const struct trace_request *request)
{
    const struct trace_view whole = {.trace = trace, .repair = repair};
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

static int use_view(const struct trace *trace, const struct trace_request *request,
                    const unsigned char *processes)
{
    const struct trace_selection selection = {.processes = processes,
                                              .has_begin = request->has_begin,
                                              .has_end = request->has_end,
                                              .begin = request->begin,
                                              .end = request->end};
    /* Times are corrected in the whole trace. */
    struct trace_view all = {0}, view = {0};
    struct trace_repair *repair = NULL;
    bool good = trace_view_open(&view, trace, &selection);
    if (good && request->repair) {
        good = trace_view_open(&all, trace, NULL);
        repair = good ? trace_repair_make(&all, LEAST_LATENCY) : NULL;
        view.repair = repair;
        good = repair;
    }
    int status = 2;
    if (!good)
        fail_memory();
    else if (begins_in(trace, repair, request))
        status = act(&view, request);
    if (repair && !status)
        print_repair(repair);
    trace_repair_free(repair);
    if (all.trace)
        trace_view_close(&all);
    trace_view_close(&view);
    return status;
}

int cli_trace(int argc, char **argv)
{
    struct trace_request request = trace_read_request(argc, argv);
    struct trace *trace = trace_open_input(request.paths);
    int status = 2;
    if (trace) {
        unsigned char *processes = trace_find_processes(trace, &request);
        if (request.action != TRACE_SUMMARY && *trace->warnings)
            qmpi_printf("%-s", trace->warnings);
        if (processes)
            status = use_view(trace, &request, processes);
        free(processes);
    }
    trace_close(trace);
    trace_free_request(&request);
    return status;
}
