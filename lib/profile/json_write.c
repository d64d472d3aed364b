/* SPDX-License-Identifier: MIT */
/*
 * See json.h: writing. The document is made and written one element at a time, one line each, so
 * that a large result needs little additional memory, and the file is readable for people.
 */
#define _GNU_SOURCE
#include "profile/json.h"

#include "profile/atomic_file.h"
#include "profile/json_elements.h"

#include <jansson.h>

enum { DIGITS = 15 };

/* Where it is written, and how. */
struct stream {
    FILE *file;
    size_t flags; /* of jansson */
};

/* ---- The document ---------------------------------------------------------------------------- */

static bool put_value(const struct stream *stream, json_t *value)
{
    const bool good = value != NULL;
    if (good)
        json_dumpf(value, stream->file, stream->flags); /* the stream notes its errors */
    json_decref(value);
    return good;
}

static bool put_member(const struct stream *stream, const char *name, json_t *value)
{
    fprintf(stream->file, ",\n\"%s\":", name);
    return put_value(stream, value);
}

typedef json_t *converter(const struct profile_result *result, const void *element);

static bool put_array(const struct stream *stream, const struct profile_result *result,
                      const char *name, const void *elements, size_t count, size_t size,
                      converter *convert)
{
    bool good = true;
    fprintf(stream->file, ",\n\"%s\":[", name);
    for (size_t i = 0; i < count && good; i++) {
        fputs(i ? ",\n" : "\n", stream->file);
        good = put_value(stream, convert(result, (const char *)elements + i * size));
    }
    fputs("]", stream->file);
    return good;
}

static int schema_of(const struct profile_result *result)
{
    return result->schema ? result->schema : PROFILE_SCHEMA;
}

static bool put_head(const struct stream *stream, const struct profile_result *result)
{
    fprintf(stream->file, "{\"schema\":\"qmpi-profile/%d\"", schema_of(result));
    bool good = put_member(stream, "program", element_string(result->program)) &&
                put_member(stream, "mpi", element_string(result->mpi)) &&
                put_member(stream, "begin", element_string(result->begin)) &&
                put_member(stream, "layer", json_integer(result->tool_id)) &&
                put_member(stream, "ranks", json_integer(result->ranks));
    if (result->rank >= 0)
        good = good && put_member(stream, "rank", json_integer(result->rank));
    if (result->termination)
        good = good && put_member(stream, "ending", element_string(result->termination));
    if (result->every_rank)
        good = good && put_member(stream, "every_rank", json_true());
    good = good && put_member(stream, "application", element_spread(&result->application)) &&
           put_member(stream, "time", element_spread(&result->time));
    struct profile_efficiency found;
    struct profile_findings findings;
    if (profile_findings_find(result, &findings))
        good = good && put_member(stream, "findings", element_findings(result, &findings));
    if (profile_efficiency_find(result, NULL, &found))
        good = good && put_member(stream, "efficiency", element_efficiency(&found));
    if (schema_of(result) >= 2)
        good =
            good &&
            put_member(stream, "unfinished_receives", element_whole(result->unfinished_receives)) &&
            put_array(stream, result, "in_flight", result->flights, result->flight_count,
                      sizeof *result->flights, element_flight);
    return good;
}

static double get_parallel(const struct profile_window_efficiency *it)
{
    return it->parallel;
}

static double get_balance(const struct profile_window_efficiency *it)
{
    return it->balance;
}

static double get_communication(const struct profile_window_efficiency *it)
{
    return it->communication;
}

static bool put_windows(const struct stream *stream, const struct profile_result *result)
{
    const struct profile_windows *windows = &result->windows;
    const size_t count = profile_windows_count(windows);
    if (!count)
        return true;
    fprintf(stream->file, ",\n\"windows\":{\"count\":%zu", count);
    const bool good =
        put_member(stream, "width", element_real(windows->width)) &&
        put_member(stream, "parallel_efficiency",
                   element_window_efficiency(windows, get_parallel)) &&
        put_member(stream, "load_balance", element_window_efficiency(windows, get_balance)) &&
        put_member(stream, "communication_efficiency",
                   element_window_efficiency(windows, get_communication)) &&
        put_array(stream, result, "ranks", windows->ranks, windows->rank_count,
                  sizeof *windows->ranks, element_window_rank);
    fputs("}", stream->file);
    return good;
}

bool profile_print_json_rounded(FILE *file, const struct profile_result *result, int digits)
{
    const struct stream target = {file, JSON_COMPACT | JSON_ENCODE_ANY |
                                            JSON_REAL_PRECISION((size_t)digits)};
    const struct stream *stream = &target;
#define PUT(NAME, ARRAY, COUNT, CONVERT)                                                           \
    put_array(stream, result, NAME, result->ARRAY, result->COUNT, sizeof *result->ARRAY, CONVERT)
    const bool good =
        put_head(stream, result) && PUT("processes", processes, process_count, element_process) &&
        PUT("functions", functions, function_count, element_function) &&
        PUT("callsites", callsites, callsite_count, element_callsite) &&
        PUT("matrix", matrix, matrix_entry_count, element_cell) &&
        PUT("communicators", communicators, communicator_count, element_communicator) &&
        PUT("files", files, file_count, element_file) &&
        PUT("regions", regions, region_count, element_region) && put_windows(stream, result);
#undef PUT
    fputs("}\n", stream->file);
    return good;
}

bool profile_print_json(FILE *stream, const struct profile_result *result)
{
    return profile_print_json_rounded(stream, result, DIGITS);
}

bool profile_write_json(const struct profile_result *result, const char *path, char **problem)
{
    struct profile_output output;
    if (!profile_output_open(&output, path, problem))
        return false;
    const bool good = profile_print_json(output.stream, result);
    return profile_output_close(&output, good, problem);
}
