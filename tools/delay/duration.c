/* SPDX-License-Identifier: MIT */
/* See duration.h. */
#include "tools/delay/duration.h"

#include "util/util.h"

#include <math.h>
#include <string.h>

/* A time of more than a day is taken for a mistake. */
static const uint64_t longest = UINT64_C(86400000000000);

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " ");
}

/* Skips a word and the blanks after it. Returns NULL if the text does not begin with the word. */
static const char *skip_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    return strncmp(text, word, length) ? NULL : skip_blanks(text + length);
}

static const char *read_one_time(const char *text, uint64_t *nanoseconds)
{
    const char *rest = qmpi_value_time_part(text, nanoseconds);
    return rest && *nanoseconds <= longest ? rest : NULL;
}

static const char *read_law(const char *text, struct duration *duration)
{
    const char *mean = skip_word(text, "exp");
    const char *rest = read_one_time(mean ? mean : text, &duration->least);
    duration->law = mean ? DURATION_EXPONENTIAL : DURATION_FIXED;
    duration->most = duration->least;
    if (!rest || mean || *skip_blanks(rest) != '-')
        return rest;
    duration->law = DURATION_UNIFORM;
    rest = read_one_time(skip_blanks(skip_blanks(rest) + 1), &duration->most);
    return duration->most < duration->least ? NULL : rest;
}

bool duration_read(const char *text, struct duration *duration)
{
    const char *rest = read_law(skip_blanks(text), duration);
    return rest && !*skip_blanks(rest);
}

bool duration_read_noise(const char *text, struct duration *detour, uint64_t *period,
                         bool *random_moment)
{
    const char *rest = read_law(skip_blanks(text), detour);
    if (!rest || *skip_blanks(rest) != '/')
        return false;
    rest = skip_blanks(skip_blanks(rest) + 1);
    const char *any = skip_word(rest, "random");
    *random_moment = any != NULL;
    rest = read_one_time(any ? any : rest, period);
    return rest && *period && !*skip_blanks(rest);
}

QMPI_COMPUTES static uint64_t draw_random(const struct duration *duration, double drawn)
{
    if (duration->law == DURATION_UNIFORM)
        return duration->least + (uint64_t)((double)(duration->most - duration->least + 1) * drawn);
    return (uint64_t)(-log1p(-drawn) * (double)duration->least);
}

uint64_t duration_draw(const struct duration *duration, double drawn)
{
    struct qmpi_arithmetic before;
    if (duration->law == DURATION_FIXED)
        return duration->least;
    qmpi_arithmetic_begin(&before);
    const uint64_t nanoseconds = draw_random(duration, drawn);
    qmpi_arithmetic_end(&before);
    return nanoseconds;
}
