/* SPDX-License-Identifier: MIT */
/* See output.h. */
#define _GNU_SOURCE
#include "tools/profile/result/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const profile_output_format_names[] = {"text", "json", "csv", "html", NULL};

enum profile_output_format profile_output_format_of(const char *path)
{
    const char *end = path ? strrchr(path, '.') : NULL;
    for (int format = PROFILE_JSON; end && profile_output_format_names[format]; format++) {
        if (!strcmp(end + 1, profile_output_format_names[format]))
            return (enum profile_output_format)format;
    }
    return PROFILE_TEXT;
}

static void set_write_problem(char **problem, const char *path, const char *reason)
{
    if (asprintf(problem, "cannot write %s: %s", path, reason) < 0)
        *problem = NULL;
}

/* Opens the temporary file. It gets the mode of the file that it will replace, unless `existing` is
 * NULL. Returns 0 or errno. */
static int open_temporary_file(struct profile_output *output, const struct stat *existing)
{
    const int problem =
        qmpi_output_open(&output->file, output->temporary, O_CREAT | O_TRUNC | O_NOFOLLOW, 0666);
    if (!problem && existing)
        (void)!fchmod(output->file.descriptor, existing->st_mode & 07777);
    return problem;
}

static int open_target_file(struct profile_output *output, const char *path)
{
    struct stat status;
    const bool exists = stat(path, &status) == 0;
    if (exists && !S_ISREG(status.st_mode)) {
        output->path = strdup(path);
        return output->path ? qmpi_output_open(&output->file, path, 0, 0) : ENOMEM;
    }
    output->is_new = !exists;
    output->path = exists ? realpath(path, NULL) : strdup(path);
    if (!output->path)
        return errno;
    if (asprintf(&output->temporary, "%s.%ld.tmp", output->path, (long)getpid()) < 0) {
        output->temporary = NULL;
        return ENOMEM;
    }
    return open_temporary_file(output, exists ? &status : NULL);
}

bool profile_output_open(struct profile_output *output, const char *path, char **problem)
{
    memset(output, 0, sizeof *output);
    *problem = NULL;
    output->given = path;
    const int reason = open_target_file(output, path);
    output->stream = reason ? NULL : qmpi_output_stream(&output->file);
    if (!output->stream) {
        set_write_problem(problem, path, strerror(reason ? reason : ENOMEM));
        if (!reason)
            qmpi_output_close(&output->file);
        if (!reason && output->temporary)
            unlink(output->temporary);
        free(output->path);
        free(output->temporary);
        return false;
    }
    qmpi_value_begin_numbers(&output->numbers);
    return true;
}

bool profile_output_close(struct profile_output *output, bool whole, char **problem)
{
    *problem = NULL;
    bool good = !ferror(output->stream);
    good = fclose(output->stream) == 0 && good && whole;
    int reason = output->file.error ? output->file.error : whole ? EIO : ENOMEM;
    if (good && output->temporary) {
        reason = tool_output_rename(output->temporary, output->path, output->is_new);
        good = !reason;
    }
    if (!good) {
        set_write_problem(problem, output->given, strerror(reason));
        if (output->temporary)
            unlink(output->temporary);
    }
    qmpi_value_end_numbers(&output->numbers);
    free(output->path);
    free(output->temporary);
    if (!good)
        errno = reason;
    return good;
}
