/* SPDX-License-Identifier: MIT */
/* See bytes.h. */
#define _GNU_SOURCE
#include "trace/bytes.h"

#include <limits.h>
#include <stdlib.h>

/* ---- Writing --------------------------------------------------------------------------------- */

void trace_bytes_free(struct trace_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct trace_bytes){0};
}

bool trace_bytes_reserve(struct trace_bytes *bytes, size_t size)
{
    if (bytes->failed)
        return false;
    if (size <= bytes->room - bytes->size)
        return true;
    size_t room = bytes->room ? bytes->room : 256;
    while (room - bytes->size < size) {
        if (room > SIZE_MAX / 2) {
            bytes->failed = true;
            return false;
        }
        room *= 2;
    }
    unsigned char *data = realloc(bytes->data, room);
    if (!data) {
        bytes->failed = true;
        return false;
    }
    bytes->data = data;
    bytes->room = room;
    return true;
}

void trace_put_bytes(struct trace_bytes *bytes, const void *data, size_t size)
{
    if (!size || !trace_bytes_reserve(bytes, size))
        return;
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void trace_put_varint(struct trace_bytes *bytes, uint64_t value)
{
    if (trace_bytes_reserve(bytes, TRACE_VARINT_MAX))
        bytes->size = (size_t)(trace_write_varint(bytes->data + bytes->size, value) - bytes->data);
}

void trace_put_signed(struct trace_bytes *bytes, int64_t value)
{
    trace_put_varint(bytes, trace_zigzag(value));
}

void trace_put_word(struct trace_bytes *bytes, uint64_t value)
{
    unsigned char word[8];
    trace_write_word(word, value, sizeof word);
    trace_put_bytes(bytes, word, sizeof word);
}

void trace_put_real(struct trace_bytes *bytes, double value)
{
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    trace_put_word(bytes, word);
}

void trace_put_string(struct trace_bytes *bytes, const char *text)
{
    const size_t length = text ? strlen(text) : 0;
    trace_put_varint(bytes, length);
    trace_put_bytes(bytes, text, length);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static uint64_t fail(struct trace_input *input)
{
    input->failed = true;
    input->at = input->end;
    return 0;
}

uint64_t trace_take_long_varint(struct trace_input *input)
{
    uint64_t value = 0;
    for (int shift = 0; input->at < input->end && shift < 64; shift += 7) {
        const unsigned char byte = *input->at++;
        if (shift == 63 && byte > 1)
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    return fail(input);
}

uint64_t trace_take_limited(struct trace_input *input, uint64_t most)
{
    const uint64_t value = trace_take_varint(input);
    return value <= most ? value : fail(input);
}

int64_t trace_take_signed(struct trace_input *input)
{
    return trace_unzigzag(trace_take_varint(input));
}

int trace_take_int(struct trace_input *input)
{
    const int64_t value = trace_take_signed(input);
    return value >= INT_MIN && value <= INT_MAX ? (int)value : (int)fail(input);
}

uint64_t trace_take_word(struct trace_input *input)
{
    if (trace_input_left(input) < 8)
        return fail(input);
    input->at += 8;
    return trace_read_word(input->at - 8, 8);
}

double trace_take_real(struct trace_input *input)
{
    const uint64_t word = trace_take_word(input);
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

struct trace_input trace_take_part(struct trace_input *input, uint64_t size)
{
    if (size > trace_input_left(input)) {
        fail(input);
        return (struct trace_input){input->end, input->end, true};
    }
    const unsigned char *begin = input->at;
    input->at += size;
    return (struct trace_input){begin, input->at, false};
}

char *trace_take_string(struct trace_input *input)
{
    const struct trace_input part = trace_take_part(input, trace_take_varint(input));
    return strndup((const char *)part.at, trace_input_left(&part));
}
