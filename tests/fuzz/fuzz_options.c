/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: any bytes as the value of an option that has a small language of its own: delay's
 * spans and noise, sets of numbers, lists of functions, mpit's lists of patterns. What is read must
 * keep what its header says, and be read the same again.
 */
#define _GNU_SOURCE
#include "../../tools/delay/duration.h"
#include "../../tools/mpit/patterns.h"
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
            "two figures of one");
    const uint64_t low = duration_draw(duration, 0), high = duration_draw(duration, 0.999999);
    if (duration->law != DURATION_EXPONENTIAL)
        require(low >= duration->least && high <= duration->most, "drawn outside of the span");
    require(low <= high, "a greater number draws less");
}

static void check_set(const struct qmpi_number_set *set)
{
    require(set->count >= 0 && (set->count == 0) == (set->ranges == NULL), "a set without ranges");
    for (int i = 0; i < set->count; i++) {
        const struct qmpi_number_range *range = &set->ranges[i];
        require(range->first <= range->last && range->step > 0, "a range that holds nothing");
        if (range->first % range->step == 0)
            require(qmpi_number_set_has(set, range->first), "its first number is not in the set");
    }
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
    char *item = qmpi_function_list_read(text, 4, describe, listed);
    require(!listed[2], "a function is listed that does not exist");
    for (int i = 0; i < 4; i++)
        require(listed[i] != QMPI_FUNCTION_NAMED, "a function is named, but not listed");
    if (item) {
        char *problem = qmpi_function_list_refuse("functions=", item);
        require(strstr(problem, "\nhint: ") != NULL, "a problem without a hint");
        free(problem);
    }
    free(item);
}

static void read_as(unsigned what, const char *text)
{
    struct duration duration, again;
    struct qmpi_number_set set = {NULL, 0};
    uint64_t period;
    bool random_moment;
    switch (what % 4) {
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
        if (qmpi_number_set_read(text, &set)) {
            check_set(&set);
            free(set.ranges);
        }
        break;
    default:
        globs_match(text, "MPI_Send");
        globs_match(text, "");
        require(globs_match(NULL, text), "without patterns a name does not match");
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
