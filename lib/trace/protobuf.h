/* SPDX-License-Identifier: MIT */
/* Writes messages of protocol buffers: fields with numbers, of which each is a varint, 8 bytes, or
 * bytes with their length. */
#ifndef QMPI_TRACE_PROTOBUF_H
#define QMPI_TRACE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message that grows; `failed` is set when memory is exhausted, and nothing is added then. */
struct protobuf {
    unsigned char *data;
    size_t size, room;
    bool failed;
};

void protobuf_free(struct protobuf *message);
void protobuf_bytes(struct protobuf *message, const void *bytes, size_t size);

void protobuf_varint(struct protobuf *message, uint32_t field, uint64_t value);
void protobuf_fixed64(struct protobuf *message, uint32_t field, uint64_t value);
void protobuf_double(struct protobuf *message, uint32_t field, double value);
void protobuf_data(struct protobuf *message, uint32_t field, const void *data, size_t size);
/* What is not valid UTF-8 becomes U+FFFD. */
void protobuf_string(struct protobuf *message, uint32_t field, const char *text);

/* A message as a field of another one. */
void protobuf_message(struct protobuf *message, uint32_t field, const struct protobuf *part);

#endif
