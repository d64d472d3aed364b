/* SPDX-License-Identifier: MIT */
/* See duration.h. */
#define _GNU_SOURCE
#include "duration.h"

#include "util/util.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double longest = 86400e9; /* a day: what is longer is a mistake */

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " ");
}

/* The word, and blanks behind it, passed over; NULL: the text does not begin with it. */
static const char *skip_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    return strncmp(text, word, length) ? NULL : skip_blanks(text + length);
}

double duration_read_real(const char *text, char **end)
{
    locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    const double value = plain ? strtod_l(text, end, plain) : strtod(text, end);
    if (plain)
        freelocale(plain);
    return value;
}

/* One time with its unit; returns what follows it, NULL: it is not one. */
static const char *read_time(const char *text, uint64_t *nanoseconds)
{
    static const struct {
        const char *name;
        double nanoseconds;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *end;
    if (!(*text >= '0' && *text <= '9') && *text != '.')
        return NULL;
    const double value = duration_read_real(text, &end);
    if (end == text)
        return NULL;
    const char *rest = skip_blanks(end);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        const size_t length = strlen(units[i].name);
        if (strncmp(rest, units[i].name, length) != 0)
            continue;
        if (!(value * units[i].nanoseconds <= longest))
            return NULL;
        *nanoseconds = (uint64_t)(value * units[i].nanoseconds + 0.5);
        return rest + length;
    }
    *nanoseconds = 0;
    return value == 0 ? end : NULL; /* nothing needs no unit */
}

static const char *read_duration(const char *text, struct duration *duration)
{
    const char *mean = skip_word(text, "exp");
    const char *rest = read_time(mean ? mean : text, &duration->least);
    duration->law = mean ? DURATION_EXPONENTIAL : DURATION_FIXED;
    duration->most = duration->least;
    if (!rest || mean || *skip_blanks(rest) != '-')
        return rest;
    duration->law = DURATION_UNIFORM;
    rest = read_time(skip_blanks(skip_blanks(rest) + 1), &duration->most);
    return duration->most < duration->least ? NULL : rest;
}

bool duration_read(const char *text, struct duration *duration)
{
    const char *rest = read_duration(skip_blanks(text), duration);
    return rest && !*skip_blanks(rest);
}

bool duration_read_noise(const char *text, struct duration *detour, uint64_t *period,
                         bool *random_moment)
{
    const char *rest = read_duration(skip_blanks(text), detour);
    if (!rest || *skip_blanks(rest) != '/')
        return false;
    rest = skip_blanks(skip_blanks(rest) + 1);
    const char *any = skip_word(rest, "random");
    *random_moment = any != NULL;
    rest = read_time(any ? any : rest, period);
    return rest && *period && !*skip_blanks(rest);
}

uint64_t duration_draw(const struct duration *duration, double drawn)
{
    if (duration->law == DURATION_UNIFORM)
        return duration->least + (uint64_t)((double)(duration->most - duration->least + 1) * drawn);
    if (duration->law == DURATION_EXPONENTIAL)
        return (uint64_t)(-log1p(-drawn) * (double)duration->least);
    return duration->least;
}
