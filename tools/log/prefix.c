/* SPDX-License-Identifier: MIT */
/* See prefix.h. */
#include "tools/log/prefix.h"

static void add_two_digits(struct text *text, int number, char before)
{
    text_char(text, before);
    text_char(text, (char)('0' + number / 10));
    text_char(text, (char)('0' + number % 10));
}

/* Appends the time of day of a local time in nanoseconds. */
static void add_clock(struct text *text, uint64_t local)
{
    const int of_day = (int)(local / 1000000000U % 86400);
    char fraction[6];
    uint64_t rest = local % 1000000000U / 1000;
    for (int i = 5; i >= 0; i--, rest /= 10)
        fraction[i] = (char)('0' + rest % 10);
    add_two_digits(text, of_day / 3600, ' ');
    add_two_digits(text, of_day / 60 % 60, ':');
    add_two_digits(text, of_day % 60, ':');
    text_char(text, '.');
    text_add(text, fraction, sizeof fraction);
}

void prefix_add(struct text *text, const struct prefix *prefix)
{
    text_char(text, '[');
    text_number(text, prefix->rank);
    if (prefix->layer) {
        text_string(text, ":layer");
        text_number(text, prefix->layer);
    }
    if (prefix->thread) {
        text_string(text, ":thread");
        text_number(text, prefix->thread);
    }
    text_char(text, ']');
    if (prefix->time == PREFIX_OFFSET) {
        text_char(text, ' ');
        text_seconds(text, prefix->when);
    } else if (prefix->time == PREFIX_CLOCK) {
        add_clock(text, prefix->start_local + prefix->when);
    }
    text_char(text, ' ');
}

void prefix_indent(struct text *text, int depth)
{
    for (int i = 0; i < depth && i < 20; i++)
        text_string(text, "  ");
}
