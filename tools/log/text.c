/* SPDX-License-Identifier: MIT */
/* See text.h. */
#include "tools/log/text.h"

#include "util/util.h"

#include <string.h>

static bool make_room(struct text *text, size_t length)
{
    size_t size = text->size ? text->size : 512;
    if (text->length + length <= text->size)
        return true;
    if (text->is_fixed)
        return false;
    while (size < text->length + length)
        size *= 2;
    char *data = qmpi_memory_take(size);
    if (!data)
        return false;
    if (text->length)
        memcpy(data, text->data, text->length);
    text->data = data;
    text->size = size;
    return true;
}

void text_add_beyond(struct text *text, const char *bytes, size_t length)
{
    if (!make_room(text, length))
        length = text->size - text->length;
    if (length)
        memcpy(text->data + text->length, bytes, length);
    __atomic_store_n(&text->length, text->length + length, __ATOMIC_RELEASE);
}

/* Appends a number with at least `digits` decimal digits. */
static void add_decimal(struct text *text, unsigned long long number, int digits)
{
    char buffer[32];
    char *const end = buffer + sizeof buffer, *begin = end;
    do {
        *--begin = (char)('0' + number % 10);
        number /= 10;
    } while (number || end - begin < digits);
    text_add(text, begin, (size_t)(end - begin));
}

/* Appends a number with at least `digits` digits that represent `bits` bits each, so 3 bits give
 * base 8 and 4 bits give base 16. */
static void add_binary(struct text *text, unsigned long long number, int bits, int digits)
{
    char buffer[32];
    char *const end = buffer + sizeof buffer, *begin = end;
    do {
        *--begin = "0123456789abcdef"[number & ((1U << bits) - 1)];
        number >>= bits;
    } while (number || end - begin < digits);
    text_add(text, begin, (size_t)(end - begin));
}

void text_number(struct text *text, long long number)
{
    if (number < 0)
        text_char(text, '-');
    add_decimal(text, number < 0 ? 0 - (unsigned long long)number : (unsigned long long)number, 1);
}

/* The comparisons may set floating-point flags too, so they are part of this function. */
QMPI_COMPUTES static void add_real(struct text *text, double number)
{
    if (!(number > -9e9 && number < 9e9)) {
        text_string(text, number != number ? "nan" : number < 0 ? "-huge" : "huge");
        return;
    }
    if (number < 0) {
        text_char(text, '-');
        number = -number;
    }
    const unsigned long long billionths = (unsigned long long)(number * 1e9 + 0.5);
    add_decimal(text, billionths / 1000000000, 1);
    text_char(text, '.');
    add_decimal(text, billionths % 1000000000, 9);
}

void text_real(struct text *text, double number)
{
    struct qmpi_arithmetic before;
    qmpi_arithmetic_begin(&before);
    add_real(text, number);
    qmpi_arithmetic_end(&before);
}

void text_hex(struct text *text, unsigned long long number, int bytes)
{
    text_string(text, "0x");
    add_binary(text, number, 4, bytes ? 2 * bytes : 1);
}

void text_handle(struct text *text, const void *from, size_t size)
{
    unsigned long long number = 0;
    unsigned small;
    if (size == sizeof small) {
        memcpy(&small, from, size);
        text_hex(text, small, 4);
    } else if (size <= sizeof number) {
        memcpy(&number, from, size);
        text_hex(text, number, 0);
    } else {
        text_char(text, '?');
    }
}

void text_pointer(struct text *text, const void *pointer)
{
    if (pointer)
        text_hex(text, (uintptr_t)pointer, 0);
    else
        text_string(text, "NULL");
}

static void add_escaped(struct text *text, unsigned char c, bool digit_follows)
{
    static const char plain[] = "\n\t\r\v\f\\\"", named[] = "ntrvf\\\"";
    const char *place = c ? strchr(plain, c) : NULL;
    if (place) {
        text_char(text, '\\');
        text_char(text, named[place - plain]);
    } else if (c < ' ' || c == 0x7f) {
        text_char(text, '\\');
        add_binary(text, c, 3, digit_follows ? 3 : 1);
    } else {
        text_char(text, (char)c); /* UTF-8 is left unchanged. */
    }
}

void text_quoted(struct text *text, const char *bytes, size_t length, bool more)
{
    text_char(text, '"');
    for (size_t i = 0; i < length; i++)
        add_escaped(text, (unsigned char)bytes[i],
                    i + 1 < length && bytes[i + 1] >= '0' && bytes[i + 1] <= '9');
    text_string(text, more ? "\"..." : "\"");
}

void text_seconds(struct text *text, uint64_t nanoseconds)
{
    add_decimal(text, nanoseconds / 1000000000, 1);
    text_char(text, '.');
    add_decimal(text, nanoseconds / 1000 % 1000000, 6);
}

/* Appends a number in units of `unit`, with at least three digits. The function is inlined for each
 * unit so that it divides by constants. */
static inline __attribute__((always_inline)) void add_in_unit(struct text *text, uint64_t number,
                                                              uint64_t unit, const char *name)
{
    const uint64_t whole = number / unit, rest = number % unit;
    add_decimal(text, whole, 1);
    if (whole < 100) {
        text_char(text, '.');
        if (whole < 10)
            add_decimal(text, rest / (unit / 100), 2);
        else
            add_decimal(text, rest / (unit / 10), 1);
    }
    text_string(text, name);
}

void text_duration(struct text *text, uint64_t nanoseconds)
{
    if (nanoseconds >= 1000000000) {
        add_in_unit(text, nanoseconds, 1000000000, " s");
    } else if (nanoseconds >= 1000000) {
        add_in_unit(text, nanoseconds, 1000000, " ms");
    } else if (nanoseconds >= 1000) {
        add_in_unit(text, nanoseconds, 1000, " us");
    } else {
        add_decimal(text, nanoseconds, 1);
        text_string(text, " ns");
    }
}
