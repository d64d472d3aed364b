/* SPDX-License-Identifier: MIT */
/* See json.h: reading, part by part as the document has them. */
#define _GNU_SOURCE
#include "profile/json.h"

#include "profile/json_source.h"
#include "util/util.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void read_spread(const struct source *parent, const char *key, struct profile_spread *spread)
{
    const struct source source = source_object(parent, key);
    spread->sum = source_real(&source, "sum");
    spread->mean = source_real(&source, "mean");
    spread->min = source_real(&source, "min");
    spread->max = source_real(&source, "max");
    spread->stddev = source_real(&source, "stddev");
}

static void read_calls(const struct source *source, struct profile_calls *calls)
{
    const struct source bytes = source_object(source, "bytes");
    calls->calls = source_whole(source, "calls");
    read_spread(source, "time", &calls->time);
    for (int i = 0; i < PROFILE_FIGURE_COUNT; i++) {
        const struct profile_figure *figure = &profile_figures[i];
        if (figure->since || source_member(source, figure->name))
            profile_figure_set(calls, i, source_real(source, figure->name));
    }
    if (source_member(source, "wait"))
        read_spread(source, "wait", &calls->wait);
    calls->sent = source_whole(&bytes, "sent");
    calls->received = source_whole(&bytes, "received");
}

/* Pairs of a bin and its calls. */
static void read_bins(const struct source *source, const char *key, uint64_t *bins, int count)
{
    const json_t *array = source_member(source, key);
    const struct place place = {&source->place, key, 0};
    if (!json_is_array(array))
        source_fail_member(source, key, "an array");
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *pair = json_array_get(array, i);
        const json_t *bin = json_array_get(pair, 0), *calls = json_array_get(pair, 1);
        if (json_is_integer(bin) && json_integer_value(bin) >= 0 &&
            json_integer_value(bin) < count && json_is_integer(calls) &&
            json_integer_value(calls) >= 0) {
            bins[json_integer_value(bin)] += (uint64_t)json_integer_value(calls);
            continue;
        }
        const struct place element = {&place, NULL, i};
        char *expected = qmpi_format("[bin from 0 to %d, calls]", count - 1);
        source_fail(source->reader, &element, expected, pair);
        free(expected);
    }
}

/* ---- The parts of a result ------------------------------------------------------------------- */

static void read_function(const struct source *source, void *element)
{
    struct profile_function *it = element;
    it->name = source_string(source, "name");
    it->group = source_string(source, "group");
    read_calls(source, &it->calls);
    it->no_bytes = source_whole(source, "no_bytes");
    read_bins(source, "sizes", it->sizes, PROFILE_SIZE_BINS);
    read_bins(source, "times", it->times, PROFILE_TIME_BINS);
}

static void read_frame(const struct source *source, void *element)
{
    struct profile_frame *it = element;
    it->module = source_string(source, "module");
    it->offset = source_whole(source, "offset");
    it->function = source_optional_string(source, "function");
    it->file = source_optional_string(source, "file");
    it->line = source_member(source, "line") ? source_int(source, "line", 1) : 0;
}

static void read_callsite(const struct source *source, void *element)
{
    struct profile_callsite *it = element;
    size_t count;
    it->name = source_string(source, "name");
    it->frames = source_array(source, "frames", sizeof *it->frames, &count, read_frame);
    it->frame_count = (int)count;
    it->ranks = source_int(source, "ranks", 0);
    read_calls(source, &it->calls);
}

static void read_flight(const struct source *source, void *element)
{
    struct profile_flight *it = element;
    size_t count;
    it->name = source_string(source, "name");
    it->rank = source_int(source, "rank", 0);
    it->since = source_string(source, "since");
    it->time = source_real(source, "time");
    const json_t *waits = source_member(source, "waiting");
    if (!json_is_boolean(waits))
        source_fail_member(source, "waiting", "true or false");
    it->waits = json_is_true(waits);
    it->frames = source_array(source, "frames", sizeof *it->frames, &count, read_frame);
    it->frame_count = (int)count;
}

static void read_matrix_entry(const struct source *source, void *element)
{
    struct profile_matrix_entry *it = element;
    it->from = source_int(source, "from", 0);
    it->to = source_int(source, "to", 0);
    it->messages = source_whole(source, "messages");
    it->bytes = source_whole(source, "bytes");
}

static void read_communicator(const struct source *source, void *element)
{
    struct profile_communicator *it = element;
    it->name = source_string(source, "name");
    it->size = source_int(source, "size", 0);
    it->first = source_int(source, "first", -1);
    it->members = source_bits(source, "members");
    it->instances = source_whole(source, "instances");
    read_calls(source, &it->calls);
}

static void read_file(const struct source *source, void *element)
{
    struct profile_file *it = element;
    it->name = source_string(source, "name");
    it->opens = source_whole(source, "opens");
    it->read = source_whole(source, "read");
    it->written = source_whole(source, "written");
    read_calls(source, &it->calls);
}

static void read_node(const struct source *source, void *element)
{
    struct profile_node *it = element;
    it->host = source_string(source, "host");
    it->useful = source_real(source, "useful");
}

static void read_region(const struct source *source, void *element)
{
    struct profile_region *it = element;
    it->name = source_string(source, "name");
    it->entries = source_whole(source, "entries");
    read_spread(source, "time", &it->time);
    read_spread(source, "mpi", &it->mpi);
    if (source_member(source, "useful"))
        read_spread(source, "useful", &it->useful);
    if (source_member(source, "nodes"))
        it->nodes = source_array(source, "nodes", sizeof *it->nodes, &it->node_count, read_node);
    it->functions = source_array(source, "functions", sizeof *it->functions, &it->function_count,
                                 read_function);
}

static void read_process(const struct source *source, void *element)
{
    struct profile_process *it = element;
    it->rank = source_int(source, "rank", 0);
    it->host = source_string(source, "host");
    it->application = source_real(source, "application");
    it->mpi = source_real(source, "mpi");
    it->useful = source_member(source, "useful") ? source_real(source, "useful")
                                                 : fmax(0, it->application - it->mpi);
    it->memory = source_whole(source, "memory");
}

static void read_result(const struct source *root, struct profile_result *result)
{
    result->program = source_string(root, "program");
    result->mpi = source_string(root, "mpi");
    result->begin = source_string(root, "begin");
    result->tool_id = source_int(root, "layer", 0);
    result->ranks = source_int(root, "ranks", 1);
    result->rank = source_member(root, "rank") ? source_int(root, "rank", 0) : -1;
    result->termination = source_optional_string(root, "ending");
    read_spread(root, "application", &result->application);
    read_spread(root, "time", &result->time);
    if (result->schema >= 2) {
        result->unfinished_receives = source_whole(root, "unfinished_receives");
        result->flights = source_array(root, "in_flight", sizeof *result->flights,
                                       &result->flight_count, read_flight);
    }
#define READ(NAME, ARRAY, COUNT, ELEMENT)                                                          \
    result->ARRAY = source_array(root, NAME, sizeof *result->ARRAY, &result->COUNT, read_##ELEMENT)
    READ("processes", processes, process_count, process);
    READ("functions", functions, function_count, function);
    READ("callsites", callsites, callsite_count, callsite);
    READ("matrix", matrix, matrix_entry_count, matrix_entry);
    READ("communicators", communicators, communicator_count, communicator);
    READ("files", files, file_count, file);
    READ("regions", regions, region_count, region);
#undef READ
}

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
                                "profile wrote with format=json",
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
                      "a file that profile wrote with format=json",
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
    read_result(&root, result);
    json_decref(document);
    if (!reader.problem)
        return result;
    *problem = reader.problem;
    profile_result_free(result);
    return NULL;
}
