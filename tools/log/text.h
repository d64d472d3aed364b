/* SPDX-License-Identifier: MIT */
/*
 * A text holds a line while it is being made. It either grows in memory that is never freed
 * (qmpi_memory_take), because other threads may be reading it, or is held in the caller's memory
 * and is cut at its end. Both kinds are safe in a signal handler. Numbers do not depend on the
 * locale.
 */
#ifndef QMPI_TOOL_LOG_TEXT_H
#define QMPI_TOOL_LOG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
    char *data; /* not terminated by a NUL */
    size_t length, size;
    bool is_fixed; /* `data` belongs to the caller */
};

/* Handles the case that the text has no room left: makes room, or cuts what is added. */
void text_add_beyond(struct text *text, const char *bytes, size_t length);

static inline void text_add(struct text *text, const char *bytes, size_t length)
{
    if (__builtin_expect(length >= text->size - text->length, 0)) {
        text_add_beyond(text, bytes, length);
        return;
    }
    memcpy(text->data + text->length, bytes, length);
    /* The length must become visible after the memory that holds the text; see frames_read. */
    __atomic_store_n(&text->length, text->length + length, __ATOMIC_RELEASE);
}

static inline void text_string(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

static inline void text_char(struct text *text, char c)
{
    text_add(text, &c, 1);
}

void text_number(struct text *text, long long number);
void text_real(struct text *text, double number); /* with nine decimals; "huge" from 9e9 on */

/* Appends a number such as "0x7ffe12". If `bytes` is not 0, the number has all digits of that many
 * bytes. */
void text_hex(struct text *text, unsigned long long number, int bytes);

/* Appends the `size` bytes at `from` as a number that distinguishes handles, or "?" if there are
 * more than eight. */
void text_handle(struct text *text, const void *from, size_t size);

/* Appends "NULL" or an address. */
void text_pointer(struct text *text, const void *pointer);

/* Appends a string in quotes and escapes unprintable characters as C does. If `more` is true, "..."
 * follows the quotes. */
void text_quoted(struct text *text, const char *bytes, size_t length, bool more);

void text_seconds(struct text *text, uint64_t nanoseconds);  /* "12.345678" */
void text_duration(struct text *text, uint64_t nanoseconds); /* "12.3 us" */

#endif
