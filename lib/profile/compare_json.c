/* SPDX-License-Identifier: MIT */
/* See compare_print.h: JSON. Each element of an array is on a line of its own, as in json_write.c.
 */
#define _GNU_SOURCE
#include "profile/compare_print.h"

#include "profile/json_elements.h"

#include <jansson.h>
#include <math.h>

enum { FORMAT = JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15) };

/* ---- Values ---------------------------------------------------------------------------------- */

static json_t *value_of(double value, enum compare_unit unit)
{
    if (isnan(value))
        return json_null();
    return unit == COMPARE_COUNT || unit == COMPARE_BYTES
               ? element_whole(value < (double)INT64_MAX ? (uint64_t)value : INT64_MAX)
               : element_real(value);
}

static bool add(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0; /* refuses NULL */
}

/* Adds the values of each figure, one per run. */
static bool add_figures(json_t *object, const struct profile_comparison *comparison,
                        const struct compare_table *table, const struct compare_entry *entry)
{
    bool good = object != NULL;
    for (int figure = 0; figure < table->figure_count && good; figure++) {
        json_t *values = json_array();
        for (int run = 0; run < comparison->run_count && good; run++) {
            const double value = compare_value(comparison, entry, figure, run);
            good = json_array_append_new(values, value_of(entry->has[run] ? value : NAN,
                                                          table->figures[figure].unit)) == 0;
        }
        good = add(object, table->figures[figure].name, values) && good;
    }
    return good;
}

/* The frames of each run. */
static json_t *frames_of(const struct profile_comparison *comparison,
                         const struct compare_entry *entry)
{
    json_t *array = json_array();
    bool good = array != NULL;
    for (int run = 0; run < comparison->run_count && good; run++) {
        const struct profile_callsite *site = entry->sites[run];
        good = json_array_append_new(array, site ? element_frames(site->frames, site->frame_count)
                                                 : json_null()) == 0;
    }
    return element_finish(array, good);
}

/* ---- Elements -------------------------------------------------------------------------------- */

static json_t *element_run(const struct profile_comparison *comparison, size_t number)
{
    const struct profile_named *it = &comparison->runs[number];
    json_t *object = json_pack("{s:o, s:i, s:o, s:o, s:o, s:i}", "file", element_string(it->name),
                               "files", it->files, "program", element_string(it->result->program),
                               "mpi", element_string(it->result->mpi), "begin",
                               element_string(it->result->begin), "ranks", it->result->ranks);
    bool good = object != NULL;
    if (it->result->rank >= 0)
        good = good && add(object, "rank", json_integer(it->result->rank));
    if (it->result->termination)
        good = good && add(object, "ending", element_string(it->result->termination));
    return element_finish(object, good);
}

static json_t *element_limit(const struct profile_comparison *comparison, size_t number)
{
    const struct compare_limit *limit = &comparison->limits[number];
    json_t *worse = json_array(), *exceeded = json_array();
    bool good = true;
    for (int run = 0; run < comparison->run_count && good; run++) {
        const double percent = run ? compare_worsening(comparison, limit->name, run) : 0;
        good = json_array_append_new(worse, isfinite(percent) ? json_real(percent) : json_null()) ==
                   0 &&
               json_array_append_new(
                   exceeded, json_boolean(run && compare_exceeds(comparison, limit, run))) == 0;
    }
    json_t *object = json_pack("{s:s, s:f, s:o, s:o}", "figure", limit->name, "percent",
                               limit->percent, "worse", worse, "exceeded", exceeded);
    return element_finish(object, good);
}

static json_t *element_pair(const struct profile_comparison *comparison, size_t number)
{
    const struct compare_finding *pair = &comparison->pairs[number];
    const char *kind = NULL;
    json_t *runs = json_array();
    bool good = runs != NULL;
    for (int run = 0; run < comparison->run_count && good; run++) {
        const struct profile_finding *it = pair->runs[run];
        json_t *finding = it ? element_finding(comparison->runs[run].result, it) : json_null();
        json_object_del(finding, "callsite"); /* that of its result, which is not there */
        good = json_array_append_new(runs, finding) == 0;
        kind = it ? it->kind : kind;
    }
    json_t *object = json_pack("{s:s, s:o}", "kind", kind, "runs", runs);
    return element_finish(object, good);
}

static json_t *element_entry(const struct profile_comparison *comparison, enum compare_kind kind,
                             size_t number)
{
    const struct compare_table *table = &comparison->tables[kind];
    const struct compare_entry *it = &table->entries[number];
    json_t *object = json_object();
    bool good = object != NULL;
    if (*it->name)
        good = good && add(object, "name", element_string(it->name));
    if (kind == COMPARE_CALLSITES)
        good = good && add(object, "frames", frames_of(comparison, it));
    if (kind == COMPARE_WAITS)
        good = good && add(object, "callsite", element_whole(it->site));
    if (it->rank >= 0)
        good = good && add(object, "rank", json_integer(it->rank));
    if (kind == COMPARE_WAITS)
        good = good && add(object, "peer", json_integer(it->peer));
    return element_finish(object, good && add_figures(object, comparison, table, it));
}

/* ---- The document ---------------------------------------------------------------------------- */

static bool put(FILE *stream, json_t *value)
{
    const bool good = value != NULL;
    if (good)
        json_dumpf(value, stream, FORMAT); /* the stream notes its errors */
    json_decref(value);
    return good;
}

static bool
put_array(FILE *stream, const struct profile_comparison *comparison, const char *name, size_t count,
          json_t *(*element)(const struct profile_comparison *comparison, size_t number))
{
    bool good = true;
    fprintf(stream, ",\n\"%s\":[", name);
    for (size_t i = 0; i < count && good; i++) {
        fputs(i ? ",\n" : "\n", stream);
        good = put(stream, element(comparison, i));
    }
    fputs("]", stream);
    return good;
}

static bool put_table(FILE *stream, const struct profile_comparison *comparison,
                      enum compare_kind kind)
{
    const struct compare_table *table = &comparison->tables[kind];
    const bool several = kind > COMPARE_EFFICIENCY;
    bool good = true;
    fprintf(stream, ",\n\"%s\":%s", table->name, several ? "[" : "");
    for (size_t i = 0; i < table->entry_count && good; i++) {
        fputs(i ? ",\n" : several ? "\n" : "", stream);
        good = put(stream, element_entry(comparison, kind, i));
    }
    fputs(several ? "]" : "", stream);
    return good;
}

bool profile_print_comparison_json(FILE *stream, const struct profile_comparison *comparison)
{
    fputs("{\"schema\":\"qmpi-comparison/1\"", stream);
    bool good =
        put_array(stream, comparison, "runs", (size_t)comparison->run_count, element_run) &&
        put_array(stream, comparison, "limits", (size_t)comparison->limit_count, element_limit) &&
        put_array(stream, comparison, "findings", comparison->pair_count, element_pair);
    for (int kind = 0; kind < COMPARE_TABLES && good; kind++)
        good = put_table(stream, comparison, (enum compare_kind)kind);
    fputs("}\n", stream);
    return good;
}
