/* SPDX-License-Identifier: MIT */
/*
 * qmpi report: prints what profile saved, again and otherwise; brings single processes' files
 * together; compares runs. Needs no MPI: it only reads files.
 */
#define _GNU_SOURCE
#include "cli/report/report.h"

#include "cli/cli.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Printing -------------------------------------------------------------------------------- */

/* What is printed. */
struct document {
    const struct report_request *request;
    const struct report_runs *runs;
    const struct profile_comparison *comparison; /* NULL: none */
};

/* Which files it is, where it is not all of them. */
static void print_title(FILE *stream, const struct report_run *run)
{
    fprintf(stream, "%s", run->name);
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
        good = profile_print_text(stream, it->runs->all[i].result, sections, layout);
    }
    return good;
}

static bool print_page(FILE *stream, const struct report_runs *runs)
{
    struct profile_named *named = report_name_runs(runs);
    const bool good = profile_print_html(stream, named);
    free(named);
    return good;
}

static bool print_comparison(FILE *stream, const struct document *it,
                             const struct profile_layout *layout)
{
    const struct report_request *request = it->request;
    const unsigned sections = request->sections ? request->sections : PROFILE_COMPARE_SECTIONS;
    if (request->format == PROFILE_HTML)
        return profile_print_comparison_html(stream, it->comparison);
    if (request->format == PROFILE_TEXT)
        return profile_print_comparison(stream, it->comparison, sections, request->sort, layout);
    return request->format == PROFILE_CSV ? profile_print_comparison_csv(stream, it->comparison)
                                          : profile_print_comparison_json(stream, it->comparison);
}

static bool print(FILE *stream, const struct document *it)
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
    return request->format == PROFILE_CSV ? profile_print_csv(stream, it->runs->all->result)
                                          : profile_print_json(stream, it->runs->all->result);
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
static int write_output(const struct document *it)
{
    const char *path = it->request->output;
    struct profile_output output;
    char *problem = NULL;
    bool good;
    if (path && is_unread_fifo(path)) {
        good = false;
        problem = qmpi_message("cannot write %s: the FIFO has no reader", path);
    } else if (path) {
        good = profile_output_open(&output, path, &problem) &&
               profile_output_close(&output, print(output.stream, it), &problem);
    } else {
        errno = 0;
        const bool whole = print(stdout, it);
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

/* Compares the runs, and prints that. Returns the exit status. */
static int compare(const struct report_request *request, const struct report_runs *runs)
{
    struct profile_comparison *comparison = report_compare(runs, request);
    const struct document document = {request, runs, comparison};
    int status = comparison ? write_output(&document) : 2;
    if (!status)
        status = report_check_limits(comparison);
    profile_comparison_free(comparison);
    return status;
}

/* Prints what there is. Returns the exit status. */
static int print_all(const struct report_request *request, const struct report_runs *runs)
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
    struct report_request request = report_read_request(argc, argv);
    struct report_runs runs = report_read_runs(&request);
    int status = runs.complete ? 0 : 2;
    if (!request.compare)
        status = print_all(&request, &runs) ? 2 : status;
    else if (runs.complete)
        status = compare(&request, &runs);
    report_free_runs(&runs);
    free(request.limits);
    return status;
}
