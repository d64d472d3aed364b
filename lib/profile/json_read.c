/* SPDX-License-Identifier: MIT */
/* See json.h: reading. */
#define _GNU_SOURCE
#include "profile/json.h"

#include "profile/json_source.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The file -------------------------------------------------------------------------------- */

/*
 * Opening a FIFO waits for one who writes to it, which may be for ever. Here a FIFO must have a
 * writer, as that of a shell's `<(command)` has, or hold something. What was read to see that is
 * put back.
 */
static FILE *open_fifo(int descriptor, const char **reason)
{
    char first;
    const ssize_t got = read(descriptor, &first, 1);
    const bool waits = got < 0 && errno == EAGAIN; /* for a writer that is there */
    FILE *stream = got > 0 || waits ? fdopen(descriptor, "r") : NULL;
    if (got == 0)
        *reason = "the FIFO has no writer";
    else if (!stream)
        *reason = strerror(errno);
    if (stream && got > 0)
        ungetc((unsigned char)first, stream);
    return stream;
}

/* NULL: *reason. */
static FILE *open_source(const char *path, struct stat *status, const char **reason)
{
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    FILE *stream = NULL;
    *reason = NULL;
    if (descriptor < 0 || fstat(descriptor, status) != 0 ||
        (S_ISDIR(status->st_mode) && (errno = EISDIR)))
        *reason = strerror(errno);
    else if (S_ISFIFO(status->st_mode))
        stream = open_fifo(descriptor, reason);
    else if (!(stream = fdopen(descriptor, "r")))
        *reason = strerror(errno);
    if (stream) /* what is read from now on may be waited for */
        fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
    else if (descriptor >= 0)
        close(descriptor);
    return stream;
}

/* NULL: *problem. */
static json_t *load(const char *path, char **problem)
{
    json_error_t error;
    struct stat status;
    const char *reason;
    FILE *stream = open_source(path, &status, &reason);
    if (!stream) {
        *problem = qmpi_message("cannot read %s: %s", path, reason);
        return NULL;
    }
    errno = 0;
    json_t *document = json_loadf(stream, JSON_REJECT_DUPLICATES, &error);
    if (!document && ferror(stream))
        *problem = qmpi_message("cannot read %s: %s", path, strerror(errno ? errno : EIO));
    else if (!document && S_ISREG(status.st_mode) && status.st_size == 0)
        *problem = qmpi_message("%s: the file is empty", path);
    else if (!document)
        *problem = qmpi_message("%s: line %d, column %d: invalid JSON: %s\n"
                                "hint: give a file that "
                                "profile wrote as JSON",
                                path, error.line, error.column, error.text);
    fclose(stream);
    return document;
}

static int read_schema(const struct source *root)
{
    static const char prefix[] = "qmpi-profile/";
    struct reader *reader = root->reader;
    char *schema = source_string(root, "schema"), *end = NULL;
    const bool ours = schema && !strncmp(schema, prefix, strlen(prefix));
    const unsigned long version = ours ? strtoul(schema + strlen(prefix), &end, 10) : 0;
    const bool is_number = ours && end != schema + strlen(prefix) && !*end;
    const bool known = is_number && version >= 1 && version <= PROFILE_SCHEMA;
    if (schema && !known) {
        char *shown = qmpi_shorten(schema);
        reader->problem =
            is_number && version > PROFILE_SCHEMA
                ? qmpi_format("%s: schema %s is newer than this qmpi, which supports schemas up to "
                              "qmpi-profile/%d\n"
                              "hint: read the file with the version of qmpi that wrote it",
                              reader->path, shown, PROFILE_SCHEMA)
                : qmpi_format(
                      "%s: schema: expected qmpi-profile/%d or less, found '%s'\nhint: give "
                      "a file that profile wrote as JSON",
                      reader->path, PROFILE_SCHEMA, shown);
        free(shown);
    }
    free(schema);
    return known ? (int)version : 0;
}

struct profile_result *profile_read_json(const char *path, char **problem)
{
    struct reader reader = {.path = path};
    *problem = NULL;
    json_t *document = load(path, problem);
    if (!document)
        return NULL;
    struct profile_result *result = qmpi_allocate(1, sizeof *result);
    const struct source root = {&reader, {NULL, "", 0}, document};
    if (!json_is_object(document))
        source_fail(&reader, NULL, "an object", document);
    result->schema = read_schema(&root);
    source_result(&root, result);
    json_decref(document);
    if (!reader.problem)
        return result;
    *problem = reader.problem;
    profile_result_free(result);
    return NULL;
}
