/* SPDX-License-Identifier: MIT */
/*
 * Numbers and strings as bytes. Numbers are little-endian or varints (LEB128: seven bits in each
 * byte, the lowest first; the highest bit is set in all bytes except the last). Signed numbers are
 * encoded as varints in the order 0, -1, 1, -2, … (zigzag).
 */
#ifndef QMPI_TRACE_FILE_BYTES_H
#define QMPI_TRACE_FILE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TRACE_VARINT_MAX 10 /* bytes */

/* A growing array of bytes. If memory is exhausted, `failed` is set, and nothing more is added. */
struct trace_bytes {
    unsigned char *data;
    size_t size, room;
    bool failed;
};
void trace_bytes_free(struct trace_bytes *bytes);

static inline uint64_t trace_bytes_zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (value < 0 ? UINT64_MAX : 0);
}

static inline int64_t trace_bytes_unzigzag(uint64_t value)
{
    return (int64_t)((value >> 1) ^ (0 - (value & 1)));
}

/* Writes a varint and returns the position after it. There must be room for TRACE_VARINT_MAX
 * bytes. */
static inline unsigned char *trace_bytes_write_varint(unsigned char *at, uint64_t value)
{
    while (value >= 0x80) {
        *at++ = (unsigned char)(value | 0x80);
        value >>= 7;
    }
    *at++ = (unsigned char)value;
    return at;
}

static inline void trace_bytes_write_word(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> (8 * i));
}

static inline uint64_t trace_bytes_read_word(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* Makes room for `size` more bytes. Returns false if memory is exhausted. */
bool trace_bytes_reserve(struct trace_bytes *bytes, size_t size);

void trace_bytes_put(struct trace_bytes *bytes, const void *data, size_t size);
void trace_bytes_put_varint(struct trace_bytes *bytes, uint64_t value);
void trace_bytes_put_signed(struct trace_bytes *bytes, int64_t value);
void trace_bytes_put_word(struct trace_bytes *bytes, uint64_t value); /* 8 bytes */
void trace_bytes_put_real(struct trace_bytes *bytes, double value);   /* 8 bytes: IEEE 754 */
void trace_bytes_put_string(struct trace_bytes *bytes, const char *text);

/* Bytes that are read. If data are missing or invalid, `failed` is set, and all further results are
 * 0 or empty. */
struct trace_bytes_input {
    const unsigned char *at, *end;
    bool failed;
};

static inline struct trace_bytes_input trace_bytes_to_read(const void *data, size_t size)
{
    const unsigned char *at = size ? data : (const void *)"";
    return (struct trace_bytes_input){at, at + size, false};
}

static inline size_t trace_bytes_left(const struct trace_bytes_input *input)
{
    return (size_t)(input->end - input->at);
}

uint64_t trace_bytes_take_long_varint(struct trace_bytes_input *input);

static inline uint64_t trace_bytes_take_varint(struct trace_bytes_input *input)
{
    if (input->at < input->end && *input->at < 0x80)
        return *input->at++;
    return trace_bytes_take_long_varint(input);
}

/* Reads a number that must not exceed `most`. */
uint64_t trace_bytes_take_limited(struct trace_bytes_input *input, uint64_t most);
int64_t trace_bytes_take_signed(struct trace_bytes_input *input);
int trace_bytes_take_int(struct trace_bytes_input *input); /* signed */
uint64_t trace_bytes_take_word(struct trace_bytes_input *input);
double trace_bytes_take_real(struct trace_bytes_input *input);

/* Returns the next `size` bytes. */
struct trace_bytes_input trace_bytes_take_part(struct trace_bytes_input *input, uint64_t size);

/* Reads a string, which the caller frees. Returns "" if data are missing or invalid, and NULL if
 * memory is exhausted. */
char *trace_bytes_take_string(struct trace_bytes_input *input);

#endif
