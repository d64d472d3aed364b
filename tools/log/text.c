/* SPDX-License-Identifier: MIT */
/* See text.h. */
#include "text.h"

#include "toolkit/toolkit.h"

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
    char *data = tool_memory_take(size);
    if (!data)
        return false;
    if (text->length)
        memcpy(data, text->data, text->length);
    text->data = data;
    text->size = size;
    return true;
}

void text_add(struct text *text, const char *bytes, size_t length)
{
    if (!make_room(text, length))
        length = text->size - text->length;
    if (length)
        memcpy(text->data + text->length, bytes, length);
    /* Behind the memory that holds it: see frames_read. */
    __atomic_store_n(&text->length, text->length + length, __ATOMIC_RELEASE);
}

void text_string(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

void text_char(struct text *text, char c)
{
    text_add(text, &c, 1);
}

/* At least `digits` of them. */
static void add_digits(struct text *text, unsigned long long number, unsigned base, int digits)
{
    char reversed[64];
    int count = 0;
    do {
        reversed[count++] = "0123456789abcdef"[number % base];
        number /= base;
    } while (number || count < digits);
    while (count)
        text_char(text, reversed[--count]);
}

void text_number(struct text *text, long long number)
{
    if (number < 0)
        text_char(text, '-');
    add_digits(text, number < 0 ? 0 - (unsigned long long)number : (unsigned long long)number, 10,
               1);
}

void text_real(struct text *text, double number)
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
    add_digits(text, billionths / 1000000000, 10, 1);
    text_char(text, '.');
    add_digits(text, billionths % 1000000000, 10, 9);
}

void text_hex(struct text *text, unsigned long long number, int bytes)
{
    text_string(text, "0x");
    add_digits(text, number, 16, bytes ? 2 * bytes : 1);
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
        add_digits(text, c, 8, digit_follows ? 3 : 1);
    } else {
        text_char(text, (char)c); /* UTF-8 stays what it is */
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
    add_digits(text, nanoseconds / 1000000000, 10, 1);
    text_char(text, '.');
    add_digits(text, nanoseconds / 1000 % 1000000, 10, 6);
}

void text_duration(struct text *text, uint64_t nanoseconds)
{
    static const struct {
        uint64_t size;
        const char *name;
    } units[] = {{1000000000, " s"}, {1000000, " ms"}, {1000, " us"}, {1, " ns"}};
    int unit = 0;
    while (unit < 3 && nanoseconds < units[unit].size)
        unit++;
    const uint64_t size = units[unit].size, whole = nanoseconds / size;
    const int decimals = size == 1 || whole >= 100 ? 0 : whole >= 10 ? 1 : 2;
    add_digits(text, whole, 10, 1);
    if (decimals) {
        text_char(text, '.');
        add_digits(text, nanoseconds % size / (size / (decimals == 1 ? 10 : 100)), 10, decimals);
    }
    text_string(text, units[unit].name);
}
