/* SPDX-License-Identifier: MIT */
/*
 * A line while it is made. It grows in memory that is never given back (util/arena.h), for
 * others may read it, or is held in memory of the caller's and is then cut where that ends. Both
 * are safe in a signal handler. Numbers look the same in every locale.
 */
#ifndef QMPI_TOOL_LOG_TEXT_H
#define QMPI_TOOL_LOG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
    char *data; /* no NUL behind it */
    size_t length, size;
    bool is_fixed; /* `data` is the caller's */
};

/* Where there is no room left: makes it, or cuts what is added. */
void text_add_beyond(struct text *text, const char *bytes, size_t length);

static inline void text_add(struct text *text, const char *bytes, size_t length)
{
    if (__builtin_expect(length >= text->size - text->length, 0)) {
        text_add_beyond(text, bytes, length);
        return;
    }
    memcpy(text->data + text->length, bytes, length);
    /* Behind the memory that holds it: see frames_read. */
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
void text_real(struct text *text, double number); /* nine decimals */

/* "0x7ffe12", or with all the digits that `bytes` bytes have. */
void text_hex(struct text *text, unsigned long long number, int bytes);

/* What is at `from`, `size` bytes, as a number that tells handles apart. */
void text_handle(struct text *text, const void *from, size_t size);

/* "NULL" or an address. */
void text_pointer(struct text *text, const void *pointer);

/* In quotes, with what cannot be printed escaped as C does it; `more`: and "..." behind them. */
void text_quoted(struct text *text, const char *bytes, size_t length, bool more);

void text_seconds(struct text *text, uint64_t nanoseconds);  /* "12.345678" */
void text_duration(struct text *text, uint64_t nanoseconds); /* "12.3 us": three digits */

#endif
