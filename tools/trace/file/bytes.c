/* SPDX-License-Identifier: MIT */
/* See bytes.h. */
#define _GNU_SOURCE
#include "tools/trace/file/bytes.h"

#include "util/util.h"

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
    if (!bytes->failed && size > bytes->room - bytes->size)
        bytes->failed = size > SIZE_MAX - bytes->size ||
                        !QMPI_MEMORY_RESERVE(bytes->data, bytes->room, bytes->size + size);
    return !bytes->failed;
}

void trace_bytes_put(struct trace_bytes *bytes, const void *data, size_t size)
{
    if (!size || !trace_bytes_reserve(bytes, size))
        return;
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

void trace_bytes_put_varint(struct trace_bytes *bytes, uint64_t value)
{
    if (trace_bytes_reserve(bytes, TRACE_VARINT_MAX))
        bytes->size =
            (size_t)(trace_bytes_write_varint(bytes->data + bytes->size, value) - bytes->data);
}

void trace_bytes_put_signed(struct trace_bytes *bytes, int64_t value)
{
    trace_bytes_put_varint(bytes, trace_bytes_zigzag(value));
}

void trace_bytes_put_word(struct trace_bytes *bytes, uint64_t value)
{
    unsigned char word[8];
    trace_bytes_write_word(word, value, sizeof word);
    trace_bytes_put(bytes, word, sizeof word);
}

void trace_bytes_put_real(struct trace_bytes *bytes, double value)
{
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    trace_bytes_put_word(bytes, word);
}

void trace_bytes_put_string(struct trace_bytes *bytes, const char *text)
{
    const size_t length = text ? strlen(text) : 0;
    trace_bytes_put_varint(bytes, length);
    trace_bytes_put(bytes, text, length);
}

/* ---- Reading --------------------------------------------------------------------------------- */

static uint64_t fail_input(struct trace_bytes_input *input)
{
    input->failed = true;
    input->at = input->end;
    return 0;
}

uint64_t trace_bytes_take_long_varint(struct trace_bytes_input *input)
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
    return fail_input(input);
}

uint64_t trace_bytes_take_limited(struct trace_bytes_input *input, uint64_t most)
{
    const uint64_t value = trace_bytes_take_varint(input);
    return value <= most ? value : fail_input(input);
}

int64_t trace_bytes_take_signed(struct trace_bytes_input *input)
{
    return trace_bytes_unzigzag(trace_bytes_take_varint(input));
}

int trace_bytes_take_int(struct trace_bytes_input *input)
{
    const int64_t value = trace_bytes_take_signed(input);
    return value >= INT_MIN && value <= INT_MAX ? (int)value : (int)fail_input(input);
}

uint64_t trace_bytes_take_word(struct trace_bytes_input *input)
{
    if (trace_bytes_left(input) < 8)
        return fail_input(input);
    input->at += 8;
    return trace_bytes_read_word(input->at - 8, 8);
}

double trace_bytes_take_real(struct trace_bytes_input *input)
{
    const uint64_t word = trace_bytes_take_word(input);
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

struct trace_bytes_input trace_bytes_take_part(struct trace_bytes_input *input, uint64_t size)
{
    if (size > trace_bytes_left(input)) {
        fail_input(input);
        return (struct trace_bytes_input){input->end, input->end, true};
    }
    const unsigned char *begin = input->at;
    input->at += size;
    return (struct trace_bytes_input){begin, input->at, false};
}

char *trace_bytes_take_string(struct trace_bytes_input *input)
{
    const struct trace_bytes_input part =
        trace_bytes_take_part(input, trace_bytes_take_varint(input));
    return strndup((const char *)part.at, trace_bytes_left(&part));
}
