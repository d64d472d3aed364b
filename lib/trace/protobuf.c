/* SPDX-License-Identifier: MIT */
/* See protobuf.h. */
#include "trace/protobuf.h"

#include "trace/utf8.h"

#include <stdlib.h>
#include <string.h>

enum wire_type { VARINT = 0, FIXED64 = 1, LENGTH = 2 };
enum { MOST_OF_VARINT = 10, FIRST_ROOM = 256 };

void protobuf_free(struct protobuf *message)
{
    free(message->data);
    *message = (struct protobuf){0};
}

void protobuf_bytes(struct protobuf *message, const void *bytes, size_t size)
{
    if (message->failed)
        return;
    if (message->room - message->size < size) {
        size_t room = message->room ? message->room : FIRST_ROOM;
        while (room - message->size < size)
            room *= 2;
        unsigned char *larger = realloc(message->data, room);
        if (!larger) {
            message->failed = true;
            return;
        }
        message->data = larger;
        message->room = room;
    }
    if (size)
        memcpy(message->data + message->size, bytes, size);
    message->size += size;
}

static void add_number(struct protobuf *message, uint64_t value)
{
    unsigned char bytes[MOST_OF_VARINT];
    size_t size = 0;
    for (; value >= 0x80; value >>= 7)
        bytes[size++] = (unsigned char)(value | 0x80);
    bytes[size++] = (unsigned char)value;
    protobuf_bytes(message, bytes, size);
}

static void add_key(struct protobuf *message, uint32_t field, enum wire_type type)
{
    add_number(message, (uint64_t)field << 3 | type);
}

void protobuf_varint(struct protobuf *message, uint32_t field, uint64_t value)
{
    add_key(message, field, VARINT);
    add_number(message, value);
}

void protobuf_fixed64(struct protobuf *message, uint32_t field, uint64_t value)
{
    unsigned char bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    add_key(message, field, FIXED64);
    protobuf_bytes(message, bytes, sizeof bytes);
}

void protobuf_double(struct protobuf *message, uint32_t field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    protobuf_fixed64(message, field, bits);
}

void protobuf_data(struct protobuf *message, uint32_t field, const void *data, size_t size)
{
    add_key(message, field, LENGTH);
    add_number(message, size);
    protobuf_bytes(message, data, size);
}

void protobuf_string(struct protobuf *message, uint32_t field, const char *text)
{
    char room[1024];
    const char *valid = trace_utf8(text, room, sizeof room);
    protobuf_data(message, field, valid, strlen(valid));
}

void protobuf_message(struct protobuf *message, uint32_t field, const struct protobuf *part)
{
    protobuf_data(message, field, part->data, part->size);
    message->failed |= part->failed;
}
