/* SPDX-License-Identifier: MIT */
/* Reads the bytes of an .eh_frame section, as frame_rule.c needs them. What is behind the end of a
 * record is read as 0. */
#ifndef QMPI_SITES_FRAME_READER_H
#define QMPI_SITES_FRAME_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct reader {
    const unsigned char *at, *end;
};

/* Returns the first eight of the bytes. */
static inline uint64_t read_bytes(struct reader *reader, size_t count)
{
    uint64_t value = 0;
    if ((size_t)(reader->end - reader->at) < count) {
        reader->at = reader->end;
        return 0;
    }
    memcpy(&value, reader->at, count < sizeof value ? count : sizeof value); /* little-endian */
    reader->at += count;
    return value;
}

/* A number in seven bits at a time, the last of which is its sign if it has one. */
static inline uint64_t read_leb(struct reader *reader, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    unsigned char byte = 0;
    do {
        byte = (unsigned char)read_bytes(reader, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    return is_signed && byte & 0x40 && shift < 64 ? value | ~(uint64_t)0 << shift : value;
}

static inline uint64_t read_uleb(struct reader *reader)
{
    return read_leb(reader, false);
}

static inline int64_t read_sleb(struct reader *reader)
{
    return (int64_t)read_leb(reader, true);
}

/* A record of the table, with its length before it. */
static inline bool open_record(const void *record, struct reader *reader)
{
    uint32_t length;
    memcpy(&length, record, sizeof length);
    reader->at = (const unsigned char *)record + sizeof length;
    reader->end = reader->at + length;
    return length && length < 0xfffffff0;
}

#endif
