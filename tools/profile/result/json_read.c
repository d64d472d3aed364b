/* SPDX-License-Identifier: MIT */
/*
 * See profile.h: reading JSON. Members are read with their required types. The first violation
 * becomes the problem, and everything after it is ignored. The message names the file, the place in
 * the document ("functions[3].time.sum") and the expected value.
 */
#define _GNU_SOURCE
#include "tools/profile/result/profile.h"

#include "util/util.h"

#include <jansson.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A place in the document: a member of `parent`, or its element `index` if `key` is NULL. */
struct place {
    const struct place *parent;
    const char *key;
    size_t index;
};

struct reader {
    const char *path;
    char *problem; /* the first problem; everything after it is ignored */
};

/* An object whose members are read. */
struct source {
    struct reader *reader;
    struct place place;
    const json_t *object;
};

/* ---- Problems -------------------------------------------------------------------------------- */

static char *describe_place(const struct place *place)
{
    if (!place)
        return qmpi_copy("");
    char *before = describe_place(place->parent);
    char *text = place->key ? qmpi_format("%s%s%s", before, *before ? "." : "", place->key)
                            : qmpi_format("%s[%zu]", before, place->index);
    free(before);
    return text;
}

static const char *json_type_name(const json_t *value)
{
    if (!value)
        return "nothing";
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "a whole number";
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    default:
        return "null";
    }
}

static void source_fail(struct reader *reader, const struct place *place, const char *expected,
                        const json_t *found)
{
    if (reader->problem)
        return;
    char *where = describe_place(place);
    char *value = json_is_integer(found) ? qmpi_format("%lld", (long long)json_integer_value(found))
                                         : qmpi_copy(json_type_name(found));
    reader->problem = qmpi_message("%s: %s: expected %s, found %s", reader->path,
                                   *where ? where : "the document", expected, value);
    free(value);
    free(where);
}

static const json_t *source_member(const struct source *source, const char *key)
{
    return source->reader->problem ? NULL : json_object_get(source->object, key);
}

static void source_fail_member(const struct source *source, const char *key, const char *expected)
{
    const struct place place = {&source->place, key, 0};
    source_fail(source->reader, &place, expected, json_object_get(source->object, key));
}

/* ---- Plain values ---------------------------------------------------------------------------- */

static char *source_string(const struct source *source, const char *key)
{
    const json_t *value = source_member(source, key);
    if (json_is_string(value))
        return qmpi_copy(json_string_value(value));
    source_fail_member(source, key, "a string");
    return NULL;
}

static double source_real(const struct source *source, const char *key)
{
    const json_t *value = source_member(source, key);
    if (!json_is_number(value))
        source_fail_member(source, key, "a number");
    return json_number_value(value);
}

static uint64_t source_whole(const struct source *source, const char *key)
{
    const json_t *value = source_member(source, key);
    const json_int_t number = json_integer_value(value);
    if (!json_is_integer(value) || number < 0)
        source_fail_member(source, key, "a whole number, 0 or more");
    return number < 0 ? 0 : (uint64_t)number;
}

static int source_int(const struct source *source, const char *key, int least)
{
    const json_t *value = source_member(source, key);
    const json_int_t number = json_integer_value(value);
    if (json_is_integer(value) && number >= least && number <= INT_MAX)
        return (int)number;
    char *expected = qmpi_format("a whole number from %d to %d", least, INT_MAX);
    source_fail_member(source, key, expected);
    free(expected);
    return 0;
}

static int source_optional_int(const struct source *source, const char *key, int missing)
{
    return source_member(source, key) ? source_int(source, key, 0) : missing;
}

static uint64_t source_bits(const struct source *source, const char *key)
{
    char *text = source_string(source, key), *end = text;
    errno = 0;
    const unsigned long long value = text ? strtoull(text, &end, 0) : 0;
    if (text && (end == text || *end || errno || strchr(text, '-')))
        source_fail_member(source, key, "a 64-bit number as a string");
    free(text);
    return value;
}

/* ---- Objects and arrays ---------------------------------------------------------------------- */

static struct source source_object(const struct source *source, const char *key)
{
    const json_t *value = source_member(source, key);
    if (!json_is_object(value))
        source_fail_member(source, key, "an object");
    return (struct source){source->reader, {&source->place, key, 0}, value};
}

static void read_element(const struct source *source, const struct member_type *type,
                         void *element);

/* Reads an array of objects. After a problem, only the elements that were begun are counted. Their
 * bytes that were not read are zero, so that they can be freed with the whole result. */
static void read_array(const struct source *source, const struct member *member, void *element)
{
    const json_t *array = source_member(source, member->name);
    const struct place place = {&source->place, member->name, 0};
    if (!json_is_array(array)) {
        source_fail_member(source, member->name, "an array");
        return;
    }
    const size_t length = json_array_size(array);
    char *elements = length ? qmpi_allocate(length, member->type->size) : NULL;
    size_t count = 0;
    for (; count < length && !source->reader->problem; count++) {
        const struct source its = {
            source->reader, {&place, NULL, count}, json_array_get(array, count)};
        if (json_is_object(its.object))
            read_element(&its, member->type, elements + count * member->type->size);
        else
            source_fail(source->reader, &its.place, "an object", its.object);
    }
    member_set_pointer(member, element, elements);
    member_set_count(member, element, count);
}

static void read_spread(const struct source *parent, const char *key, struct profile_spread *spread)
{
    const struct source source = source_object(parent, key);
    spread->sum = source_real(&source, "sum");
    spread->mean = source_real(&source, "mean");
    spread->min = source_real(&source, "min");
    spread->max = source_real(&source, "max");
    spread->stddev = source_real(&source, "stddev");
    spread->min_rank = source_optional_int(&source, "min_rank", -1);
    spread->max_rank = source_optional_int(&source, "max_rank", -1);
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

static bool read_value(void *element, const struct member *column, const json_t *value)
{
    char *place = (char *)element + column->offset;
    const json_int_t whole = json_integer_value(value);
    const double real = json_number_value(value);
    const int number = (int)whole;
    if (column->kind == MEMBER_REAL)
        memcpy(place, &real, sizeof real);
    else if (column->kind == MEMBER_WHOLE)
        memcpy(place, &whole, sizeof whole);
    else
        memcpy(place, &number, sizeof number);
    if (column->kind == MEMBER_REAL)
        return json_is_number(value);
    return json_is_integer(value) && whole >= column->least &&
           (column->kind == MEMBER_WHOLE || whole <= INT_MAX);
}

/* Reads columns of equal length into an array of elements. The first column is required. */
static void *read_columns(const struct source *parent, const char *key,
                          const struct member_type *type, size_t *count)
{
    const struct source source = source_object(parent, key);
    *count = json_array_size(source_member(&source, type->members->name));
    char *all = qmpi_allocate(*count + 1, type->size);
    for (const struct member *column = type->members; column->kind != MEMBER_END; column++) {
        const json_t *array = source_member(&source, column->name);
        if (!array && column->is_optional)
            continue;
        bool good = json_is_array(array) && json_array_size(array) == *count;
        for (size_t i = 0; good && i < *count; i++)
            good = read_value(all + i * type->size, column, json_array_get(array, i));
        if (!good)
            source_fail_member(&source, column->name,
                               column->kind == MEMBER_REAL ? "a number for each rank"
                                                           : "a whole number for each rank");
    }
    return all;
}

static void read_ranks(const struct source *parent, const char *key,
                       struct profile_by_rank *by_rank)
{
    by_rank->all = read_columns(parent, key, &members_rank_calls, &by_rank->count);
}

/* If the file does not list the callers, they are chosen from the listed ranks. */
static void read_by_rank(const struct source *parent, struct profile_by_rank *by_rank,
                         struct profile_by_rank *callers)
{
    const bool has_callers = source_member(parent, "callers") != NULL;
    if (!has_callers && !source_member(parent, "by_rank"))
        return;
    if (source_member(parent, "by_rank"))
        read_ranks(parent, "by_rank", by_rank);
    read_ranks(parent, has_callers ? "callers" : "by_rank", callers);
    profile_merge_choose_callers(callers);
}

/* Reads pairs of a bin and the number of its calls. */
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

/* ---- Elements of a result -------------------------------------------------------------------- */

static void read_member(const struct source *source, const struct member *member, void *element)
{
    char *place = (char *)element + member->offset;
    const char *name = member->name;
    char *text;
    int number = member->absent;
    uint64_t whole;
    double real;
    bool flag;
    if ((member->is_optional || member->is_new) && !source_member(source, name)) {
        if (member->kind == MEMBER_INT)
            memcpy(place, &number, sizeof number);
        return; /* Members of other kinds stay 0, like all bytes of a new element. */
    }
    switch (member->kind) {
    case MEMBER_TEXT:
        text = source_string(source, name);
        member_set_pointer(member, element, text);
        break;
    case MEMBER_INT:
        number = source_int(source, name, member->least);
        memcpy(place, &number, sizeof number);
        break;
    case MEMBER_WHOLE:
        whole = source_whole(source, name);
        memcpy(place, &whole, sizeof whole);
        break;
    case MEMBER_REAL:
        real = source_real(source, name);
        memcpy(place, &real, sizeof real);
        break;
    case MEMBER_BOOLEAN:
        if (!json_is_boolean(source_member(source, name)))
            source_fail_member(source, name, "true or false");
        /* fall through */
    case MEMBER_FLAG:
        flag = json_is_true(source_member(source, name));
        memcpy(place, &flag, sizeof flag);
        break;
    case MEMBER_BITS:
        whole = source_bits(source, name);
        memcpy(place, &whole, sizeof whole);
        break;
    case MEMBER_SPREAD:
        read_spread(source, name, (void *)place);
        break;
    case MEMBER_CALLS:
        read_calls(source, (void *)place);
        break;
    case MEMBER_BINS:
        read_bins(source, name, (void *)place, member->bins);
        break;
    case MEMBER_ARRAY:
    case MEMBER_FRAMES:
        read_array(source, member, element);
        break;
    default:
        break;
    }
}

static void read_members(const struct source *source, const struct member_type *type, void *element)
{
    for (const struct member *member = type->members; member->kind != MEMBER_END; member++) {
        if (member->name)
            read_member(source, member, element);
    }
}

static void read_callsite(const struct source *source, struct profile_callsite *callsite)
{
    read_members(source, &members_callsite, callsite);
    read_by_rank(source, &callsite->by_rank, &callsite->callers);
    if (source_member(source, "waits"))
        callsite->waits.all = read_columns(source, "waits", &members_wait, &callsite->waits.count);
}

/* Sets `from` and `to` to the numbers of the call sites + 1; 0: none. find_outside_keys replaces
 * the numbers by the keys of the call sites when all of these have been read. */
static void read_outside(const struct source *source, struct profile_outside *outside)
{
    read_members(source, &members_outside, outside);
    outside->from = (uint64_t)source_optional_int(source, "from", -1) + 1;
    outside->to = (uint64_t)source_optional_int(source, "to", -1) + 1;
    if (source_member(source, "by_rank")) {
        outside->ranks.all =
            read_columns(source, "by_rank", &members_outside_rank, &outside->ranks.count);
        if (outside->ranks.count > PROFILE_OUTLIERS)
            source_fail_member(source, "by_rank", "at most 32 ranks");
    }
}

static void read_function(const struct source *source, struct profile_function *function)
{
    read_members(source, &members_function, function);
    read_by_rank(source, &function->by_rank, &function->callers);
}

/* ---- Efficiency over time -------------------------------------------------------------------- */

enum { UNITS_PER_PERCENT = PROFILE_WINDOW_WHOLE / 100 };

/* Reads percentages. *count is the required number, or SIZE_MAX for any; it becomes the number
 * read. */
static unsigned char *read_percentages(const struct source *source, const char *key, size_t *count)
{
    const json_t *array = source_member(source, key);
    const size_t length = json_array_size(array);
    bool good = json_is_array(array) && length <= PROFILE_WINDOWS_MOST &&
                (*count == SIZE_MAX || *count == length);
    unsigned char *parts = good ? qmpi_allocate(length + 1, 1) : NULL;
    for (size_t i = 0; good && i < length; i++) {
        const double value = json_number_value(json_array_get(array, i));
        good = json_is_number(json_array_get(array, i)) && value >= 0 && value <= 100;
        parts[i] = good ? (unsigned char)lround(value * UNITS_PER_PERCENT) : 0;
    }
    if (!good)
        source_fail_member(source, key, "a percentage for each of at most 200 windows");
    *count = parts ? length : 0;
    return parts;
}

static void read_window_rank(const struct source *source, struct profile_window_rank *rank)
{
    size_t profiled;
    read_members(source, &members_window_rank, rank);
    rank->count = SIZE_MAX;
    rank->mpi = read_percentages(source, "mpi", &rank->count);
    profiled = rank->count;
    if (source_member(source, "profiled"))
        rank->profiled = read_percentages(source, "profiled", &profiled);
}

static void read_element(const struct source *source, const struct member_type *type, void *element)
{
    if (type == &members_function)
        read_function(source, element);
    else if (type == &members_callsite)
        read_callsite(source, element);
    else if (type == &members_outside)
        read_outside(source, element);
    else if (type == &members_window_rank)
        read_window_rank(source, element);
    else
        read_members(source, type, element);
}

static bool is_width(double width)
{
    double valid = PROFILE_WINDOW_WIDTH;
    while (valid < width && isfinite(width))
        valid *= 2;
    return valid == width;
}

static void read_windows(const struct source *root, struct profile_windows *windows)
{
    const struct source source = source_object(root, "windows");
    read_members(&source, &members_windows, windows);
    if (!is_width(windows->width))
        source_fail_member(&source, "width", "0.001 times a power of two");
    for (size_t i = 0; i < windows->rank_count; i++) {
        const double last = windows->ranks[i].last;
        if (!(last >= 0 && last <= windows->width * 1.01))
            source_fail_member(&source, "ranks", "a time from 0 to the width as 'last'");
    }
}

/* ---- The document ---------------------------------------------------------------------------- */

/* Older files lack the time outside MPI. In files that were edited, it may exceed the time of the
 * rank. */
static void find_useful(const struct source *root, struct profile_result *result)
{
    const json_t *processes = source_member(root, "processes");
    for (size_t i = 0; i < result->process_count; i++) {
        struct profile_process *it = &result->processes[i];
        if (!json_object_get(json_array_get(processes, i), "useful"))
            it->useful = it->application - it->mpi;
        it->useful = fmax(0, fmin(it->useful, it->application));
    }
}

static void find_outside_keys(const struct source *root, struct profile_result *result)
{
    for (size_t i = 0; i < result->outside_count && !root->reader->problem; i++) {
        uint64_t *const ends[] = {&result->outside[i].from, &result->outside[i].to};
        for (size_t k = 0; k < 2; k++) {
            const uint64_t number = *ends[k];
            if (number > result->callsite_count) {
                source_fail_member(root, "outside", "numbers of call sites");
                return;
            }
            const struct profile_callsite *site = &result->callsites[number ? number - 1 : 0];
            *ends[k] =
                number ? profile_callsite_key(site->name, site->frames, site->frame_count) : 0;
        }
    }
}

static void read_result(const struct source *root, struct profile_result *result)
{
    read_members(root, &members_result_head, result);
    if (result->schema >= 2)
        read_members(root, &members_result_unfinished, result);
    read_members(root, &members_result_arrays, result);
    find_useful(root, result);
    find_outside_keys(root, result);
    if (source_member(root, "windows"))
        read_windows(root, &result->windows);
}

/* ---- The file -------------------------------------------------------------------------------- */

/* Waiting for a writer of a FIFO could last for ever. Therefore, `descriptor` does not block, and
 * the FIFO must already have a writer, as the FIFO of a shell's `<(command)` does, or contain data.
 * The byte that is read to check this is put back. */
static FILE *open_fifo(int descriptor, const char **reason)
{
    char first;
    const ssize_t got = read(descriptor, &first, 1);
    const bool waits = got < 0 && errno == EAGAIN; /* the FIFO has a writer */
    FILE *stream = got > 0 || waits ? fdopen(descriptor, "r") : NULL;
    if (got == 0)
        *reason = "the FIFO has no writer";
    else if (!stream)
        *reason = strerror(errno);
    if (stream && got > 0)
        ungetc((unsigned char)first, stream);
    return stream;
}

/* Returns NULL and sets *reason on failure. */
static FILE *open_document(const char *path, struct stat *status, const char **reason)
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
    if (stream) /* from now on, reading may wait */
        fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
    else if (descriptor >= 0)
        close(descriptor);
    return stream;
}

/* Returns NULL and sets *problem on failure. */
static json_t *load_document(const char *path, char **problem)
{
    json_error_t error;
    struct stat status;
    const char *reason;
    FILE *stream = open_document(path, &status, &reason);
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
        char *shown = qmpi_message_shorten(schema);
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

struct profile_result *profile_json_read(const char *path, char **problem)
{
    struct reader reader = {.path = path};
    *problem = NULL;
    json_t *document = load_document(path, problem);
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
