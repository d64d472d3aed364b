/* SPDX-License-Identifier: MIT */
/* See witness.h. This file is part of the echo library, so that the program and the library share
 * one state. */
#include "witness.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The result of a place has the position ANSWER plus the number of the place, which no argument
 * has. VALUE_MAX is the largest size of an argument or result, in bytes. */
enum { ANSWER = 1000, VALUE_MAX = 64 };

static const char *current = "";
static int layer_count;
static int library_count; /* 1 if the call must reach the MPI library, or 0 if calls that reach it
                             are ignored */
static const char *ignored_function = "";
static int is_ignored; /* whether to ignore the current call of the MPI library */
static int arrivals;   /* how many places the current call has reached */
static int place_now = WITNESS_APPLICATION; /* the latest of these places */
static int problems;

static uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

static void pattern(unsigned char *bytes, size_t size, int position)
{
    uint64_t seed = mix((uint64_t)position);
    for (const char *c = current; *c; c++)
        seed = mix(seed + (unsigned char)*c);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(1 + mix(seed + i) % 255); /* no byte is zero */
}

static const char *place_name(int place)
{
    static char name[32];
    if (place == WITNESS_APPLICATION)
        return "the application";
    if (place == 0)
        return "the MPI library";
    snprintf(name, sizeof name, "layer %d", place);
    return name;
}

static void complain(int place, const char *text)
{
    problems++;
    printf("# %s, %s: %s\n", current, place_name(place), text);
}

void witness_wrong(const char *format, ...)
{
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    complain(place_now, text);
}

static void compare(int place, const char *what, const void *value, size_t size, int position)
{
    unsigned char expected[VALUE_MAX];
    char text[512];
    int length = 0;
    pattern(expected, size, position);
    if (!memcmp(value, expected, size))
        return;
    length += snprintf(text, sizeof text, "%s is", what);
    for (size_t i = 0; i < size; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, " %02x",
                           ((const unsigned char *)value)[i]);
    length += snprintf(text + length, sizeof text - (size_t)length, ", not");
    for (size_t i = 0; i < size; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, " %02x", expected[i]);
    complain(place, text);
}

void witness_begin(const char *function, int layers, int library)
{
    current = function;
    layer_count = layers;
    library_count = library;
    ignored_function = "";
    is_ignored = 0;
    arrivals = 0;
    place_now = WITNESS_APPLICATION;
    problems = 0;
}

void witness_ignore(const char *function)
{
    ignored_function = function;
}

void witness_fill(void *value, size_t size, int position)
{
    pattern(value, size, position);
}

void witness_arrive(int place, const char *function)
{
    is_ignored = place == 0 && (!library_count || !strcmp(function, ignored_function));
    if (is_ignored)
        return;
    const int expected = ++arrivals <= layer_count ? arrivals : 0;
    place_now = place;
    if (strcmp(function, current) != 0)
        witness_wrong("called as %s", function);
    if (place != expected || arrivals > layer_count + library_count)
        witness_wrong("arrived here as stop %d of %d", arrivals, layer_count + library_count);
}

void witness_argument(int position, const char *name, const void *value, size_t size)
{
    char what[128];
    snprintf(what, sizeof what, "argument %d (%s)", position, name);
    if (!is_ignored)
        compare(place_now, what, value, size, position);
}

void witness_answer(int place, void *result, size_t size)
{
    pattern(result, size, ANSWER + place);
}

void witness_result(int place, const void *result, size_t size)
{
    const int above = place == WITNESS_APPLICATION ? 0 : place;
    const int lower = above < layer_count ? above + 1 : 0;
    if (lower || library_count)
        compare(place, "the result", result, size, ANSWER + lower);
}

int witness_end(void)
{
    if (arrivals != layer_count + library_count) {
        place_now = WITNESS_APPLICATION;
        witness_wrong("the call made %d stops, not %d", arrivals, layer_count + library_count);
    }
    return problems;
}
