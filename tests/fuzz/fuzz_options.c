/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: any bytes as the value of an option that has a small language of its own: delay's
 * spans, noise and sets of numbers, mpit's lists of patterns. What is read must keep what its
 * header says, and be read the same again.
 */
#define _GNU_SOURCE
#include "../../tools/delay/span.h"
#include "../../tools/mpit/globs.h"

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

static void check_span(const struct span *span)
{
    require(span->law <= SPAN_EXPONENTIAL, "an unknown law");
    require(span->least <= span->most, "a span that ends before it begins");
    require(span->law == SPAN_UNIFORM || span->least == span->most, "two figures of one");
    const uint64_t low = span_draw(span, 0), high = span_draw(span, 0.999999);
    if (span->law != SPAN_EXPONENTIAL)
        require(low >= span->least && high <= span->most, "drawn outside of the span");
    require(low <= high, "a greater number draws less");
}

static void check_set(const struct span_set *set)
{
    require(set->count >= 0 && (set->count == 0) == (set->ranges == NULL), "a set without ranges");
    for (int i = 0; i < set->count; i++) {
        const struct span_range *range = &set->ranges[i];
        require(range->first <= range->last && range->step > 0, "a range that holds nothing");
        if (range->first % range->step == 0)
            require(span_set_has(set, range->first), "its first number is not in the set");
    }
}

static void read_as(unsigned what, const char *text)
{
    struct span span, again;
    struct span_set set = {NULL, 0};
    uint64_t period;
    bool random_moment;
    switch (what % 4) {
    case 0:
        if (span_read(text, &span)) {
            check_span(&span);
            require(span_read(text, &again) && again.least == span.least && again.most == span.most,
                    "read differently a second time");
        }
        break;
    case 1:
        if (span_read_noise(text, &span, &period, &random_moment)) {
            check_span(&span);
            require(period > 0, "noise without a period");
        }
        break;
    case 2:
        if (span_read_set(text, &set)) {
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
