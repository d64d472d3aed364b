/* SPDX-License-Identifier: MIT */
/* See json_elements.h and json_source.h: efficiency over time. */
#include "profile/json_elements.h"
#include "profile/json_source.h"
#include "profile/windows.h"
#include "util/util.h"

#include <math.h>

enum { UNITS_PER_PERCENT = PROFILE_WINDOW_WHOLE / 100 };

/* ---- Writing --------------------------------------------------------------------------------- */

/* Percentages. */
static json_t *percentages(const unsigned char *parts, size_t count)
{
    json_t *array = json_array();
    bool good = array != NULL;
    for (size_t i = 0; i < count && good; i++) {
        json_t *value = parts[i] % UNITS_PER_PERCENT
                            ? json_real(parts[i] / (double)UNITS_PER_PERCENT)
                            : json_integer(parts[i] / UNITS_PER_PERCENT);
        good = json_array_append_new(array, value) == 0;
    }
    return element_finish(array, good);
}

json_t *element_window_rank(const struct profile_result *result, const void *element)
{
    const struct profile_window_rank *it = element;
    (void)result;
    json_t *object = json_pack("{s:i, s:o, s:o}", "rank", it->rank, "last", element_real(it->last),
                               "mpi", percentages(it->mpi, it->count));
    bool good = object != NULL;
    if (it->profiled)
        good = json_object_set_new(object, "profiled", percentages(it->profiled, it->count)) == 0 &&
               good;
    return element_finish(object, good);
}

json_t *element_window_efficiency(const struct profile_windows *windows,
                                  double (*figure)(const struct profile_window_efficiency *it))
{
    const size_t count = profile_windows_count(windows);
    json_t *array = json_array();
    bool good = array != NULL;
    for (size_t i = 0; i < count && good; i++) {
        struct profile_window_efficiency it;
        const bool known = profile_windows_find(windows, i, i + 1, &it);
        json_t *value = known ? json_real(round(figure(&it) * 1000) / 1000) : json_null();
        good = json_array_append_new(array, value) == 0;
    }
    return element_finish(array, good);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Reads percentages; `count`: how many there must be, or SIZE_MAX. */
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

static void read_window_rank(const struct source *source, void *element)
{
    struct profile_window_rank *it = element;
    size_t profiled;
    it->rank = source_int(source, "rank", 0);
    it->last = source_real(source, "last");
    it->count = SIZE_MAX;
    it->mpi = read_percentages(source, "mpi", &it->count);
    profiled = it->count;
    if (source_member(source, "profiled"))
        it->profiled = read_percentages(source, "profiled", &profiled);
}

static bool is_width(double width)
{
    double valid = PROFILE_WINDOW_WIDTH;
    while (valid < width && isfinite(width))
        valid *= 2;
    return valid == width;
}

void source_windows(const struct source *root, struct profile_windows *windows)
{
    const struct source source = source_object(root, "windows");
    windows->width = source_real(&source, "width");
    if (!is_width(windows->width))
        source_fail_member(&source, "width", "0.001 times a power of two");
    windows->ranks = source_array(&source, "ranks", sizeof *windows->ranks, &windows->rank_count,
                                  read_window_rank);
    for (size_t i = 0; i < windows->rank_count; i++) {
        const double last = windows->ranks[i].last;
        if (!(last >= 0 && last <= windows->width * 1.01))
            source_fail_member(&source, "ranks", "a time from 0 to the width as 'last'");
    }
}
