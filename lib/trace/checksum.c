/* SPDX-License-Identifier: MIT */
/* See checksum.h. Eight bytes at a time ("slicing by 8"): a table for each. */
#include "trace/checksum.h"

#include "trace/bytes.h"

#include <pthread.h>

static uint32_t tables[8][256];
static pthread_once_t are_made = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++)
            value = value & 1 ? value >> 1 ^ UINT32_C(0xedb88320) : value >> 1;
        tables[0][byte] = value;
    }
    for (int i = 1; i < 8; i++)
        for (int byte = 0; byte < 256; byte++) {
            const uint32_t value = tables[i - 1][byte];
            tables[i][byte] = value >> 8 ^ tables[0][value & 0xff];
        }
}

uint32_t trace_checksum(uint32_t checksum, const void *data, size_t size)
{
    const unsigned char *at = data;
    uint32_t value = ~checksum;
    pthread_once(&are_made, make_tables);
    for (; size >= 8; size -= 8, at += 8) {
        const uint64_t word = trace_read_word(at, 8) ^ value;
        value = 0;
        for (int i = 0; i < 8; i++)
            value ^= tables[7 - i][word >> (8 * i) & 0xff];
    }
    for (; size; size--, at++)
        value = value >> 8 ^ tables[0][(value ^ *at) & 0xff];
    return ~value;
}
