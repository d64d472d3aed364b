/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: any bytes as the value of an option. The first byte selects how the other bytes are
 * read: as a span of delay, as noise of delay, as a set of numbers and a list of functions, as
 * numbers of all kinds and booleans, or as a list of patterns of mpit. The values must have the
 * properties that duration.h and util/value.h state. If a duration is read twice, both results must
 * be the same.
 */
#define _GNU_SOURCE
#include "tools/delay/duration.h"
#include "util/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fuzz_options: %s\n", what);
    abort();
}

static void check_duration(const struct duration *duration)
{
    require(duration->law <= DURATION_EXPONENTIAL, "an unknown law");
    require(duration->least <= duration->most, "a span that ends before it begins");
    require(duration->law == DURATION_UNIFORM || duration->least == duration->most,
            "two numbers for a law that has one");
    const uint64_t low = duration_draw(duration, 0), high = duration_draw(duration, 0.999999);
    if (duration->law != DURATION_EXPONENTIAL)
        require(low >= duration->least && high <= duration->most, "drawn outside of the span");
    require(low <= high, "a greater number draws less");
}

static void check_set(const struct qmpi_value_set *set)
{
    require(set->count >= 0 && (set->count == 0) == (set->ranges == NULL), "a set without ranges");
    for (int i = 0; i < set->count; i++) {
        const struct qmpi_value_range *range = &set->ranges[i];
        require(range->first <= range->last && range->step > 0, "a range that holds nothing");
        if (range->first % range->step == 0)
            require(qmpi_value_set_has(set, range->first),
                    "the first number of a range is not in the set");
    }
}

static void check_numbers(const char *text)
{
    uint64_t number = 0, size = 0, time = 0, again = 0;
    double real = 0, percent = 0;
    int whole = 0;
    bool yes;
    if (qmpi_value_whole(text, 1, 1000, &number))
        require(number >= 1 && number <= 1000 && qmpi_value_size(text, &size) && size == number,
                "a whole number is not a size");
    if (qmpi_value_time(text, &time))
        require(time <= INT64_MAX && qmpi_value_time_part(text, &again) && again == time,
                "a time is read differently as a part");
    if (qmpi_value_real(text, 1, &real))
        require(real >= 0 && real <= 1, "a number beyond its limit");
    if (qmpi_value_percent(text, &percent))
        require(percent >= 0, "a negative percentage");
    if (qmpi_value_whole_percent(text, &whole))
        require(whole >= 1 && whole <= 100 && percent == whole, "two percentages of one text");
    if (qmpi_value_is_yes(text))
        require(qmpi_value_boolean(text, &yes) && yes, "yes and no");
}

static bool describe(int number, const char **name, unsigned *group)
{
    static const char *const names[] = {"MPI_Send", "MPI_Barrier", NULL, "MPI_File_open"};
    *name = names[number];
    *group = 1U << number;
    return *name != NULL;
}

static void check_functions(const char *text)
{
    unsigned char listed[4];
    char *item = qmpi_value_read_functions(text, 4, describe, listed);
    require(!listed[2], "a function is listed that does not exist");
    for (int i = 0; i < 4; i++)
        require(listed[i] != QMPI_VALUE_NAMED, "a function is named, but not listed");
    if (item) {
        char *problem = qmpi_value_refuse_functions("functions=", item);
        require(strstr(problem, "\nhint: ") != NULL, "a problem without a hint");
        free(problem);
    }
    free(item);
}

static void read_as(unsigned what, const char *text)
{
    struct duration duration, again;
    struct qmpi_value_set set = {NULL, 0};
    uint64_t period;
    bool random_moment;
    switch (what % 5) {
    case 0:
        if (duration_read(text, &duration)) {
            check_duration(&duration);
            require(duration_read(text, &again) && again.least == duration.least &&
                        again.most == duration.most,
                    "read differently a second time");
        }
        break;
    case 1:
        if (duration_read_noise(text, &duration, &period, &random_moment)) {
            check_duration(&duration);
            require(period > 0, "noise without a period");
        }
        break;
    case 2:
        check_functions(text);
        if (qmpi_value_set_read(text, &set)) {
            check_set(&set);
            free(set.ranges);
        }
        break;
    case 3:
        check_numbers(text);
        break;
    default:
        qmpi_value_matches_patterns(text, "MPI_Send", false);
        qmpi_value_matches_patterns(text, "", false);
        require(qmpi_value_matches_patterns(NULL, text, false),
                "without patterns a name does not match");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    read_as(data[0], text);
    free(text);
    return 0;
}
