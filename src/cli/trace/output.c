/* SPDX-License-Identifier: MIT */
/* qmpi trace --to: writes a trace in another format, to standard output or to a file that appears
 * complete or not at all. */
#define _GNU_SOURCE
#include "cli/trace/trace.h"

#include "cli/cli.h"
#include "profile/profile.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether a file may be replaced: it is none, a device, or has been written by this command. */
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

static bool print(FILE *stream, const struct trace_export *export, enum trace_format format)
{
    switch (format) {
    case FORMAT_PERFETTO:
        return trace_write_perfetto(stream, export);
    case FORMAT_JSON:
        return trace_write_json(stream, export);
    default:
        return trace_write_csv(stream, export);
    }
}

static int write_to_output(const struct trace_export *export, const struct trace_request *request)
{
    if (request->format == FORMAT_PERFETTO && isatty(STDOUT_FILENO)) {
        qmpi_printf("a file for Perfetto is not text: it is not written to a terminal\n"
                    "hint: name a file with --output");
        return 2;
    }
    errno = 0;
    const bool complete = print(stdout, export, request->format);
    if (complete && fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    qmpi_printf("cannot write: %s", complete ? strerror(errno ? errno : EIO) : "out of memory");
    return 2;
}

static int write_to_file(const struct trace_export *export, const struct trace_request *request)
{
    struct profile_output output;
    char *problem = NULL;
    if (!may_replace(request->output))
        return 2;
    if (profile_output_open(&output, request->output, &problem) &&
        profile_output_close(&output, print(output.stream, export, request->format), &problem))
        return 0;
    qmpi_printf("%s\nhint: name another file with --output", problem ? problem : "out of memory");
    free(problem);
    return 2;
}

static int write_archive(const struct trace_export *export, const struct trace_request *request)
{
    char *path = qmpi_format("%s/" TRACE_OTF2_FILE, cli_tools_folder()), *problem = NULL;
    const struct trace_otf2 *otf2 = trace_otf2_open(path, &problem);
    const bool good = otf2 && otf2->write(export->view->trace, request->output,
                                          &export->view->selection, &problem);
    if (!good)
        qmpi_printf("%-s", problem ? problem : "out of memory");
    free(problem);
    free(path);
    return good ? 0 : 2;
}

int trace_write(const struct trace_export *export, const struct trace_request *request)
{
    if (request->format == FORMAT_OTF2)
        return write_archive(export, request);
    return request->output ? write_to_file(export, request) : write_to_output(export, request);
}
