/* SPDX-License-Identifier: MIT */
/*
 * The blocks of a file. A file is TRACE_MAGIC and blocks; a block is
 *
 *     offset  bytes
 *     0       4      TRACE_BLOCK_MAGIC
 *     4       1      type: enum trace_block_type
 *     5       1      how the body is stored: enum trace_compression
 *     6       2      0
 *     8       4      size of the head
 *     12      4      size of the body as stored
 *     16      4      size of the body
 *     20      4      checksum of the head
 *     24      4      checksum of the body as stored
 *     28      4      checksum of bytes 0 to 27
 *     32             the head, which can be read without the body; the body as stored
 */
#ifndef QMPI_TRACE_BLOCK_H
#define QMPI_TRACE_BLOCK_H

#include "trace/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_MAGIC "QMPITRC1"
#define TRACE_MAGIC_SIZE 8
#define TRACE_BLOCK_MAGIC "QTB\n"
#define TRACE_BLOCK_MAGIC_SIZE 4
#define TRACE_BLOCK_SIZE 32

/* What a reader accepts, and a writer does not exceed. */
#define TRACE_HEAD_MAX (UINT32_C(1) << 20)
#define TRACE_BODY_MAX (UINT32_C(1) << 24)

enum trace_block_type { TRACE_BLOCK_DEFINITIONS = 1, TRACE_BLOCK_EVENTS = 2 };

struct trace_block {
    uint8_t type, compression;
    uint32_t head, stored, size;             /* bytes */
    uint32_t head_checksum, stored_checksum; /* see checksum.h */
};

/* Appends a block. Sets `failed` of `out` if it would be too large, too. */
void trace_put_block(struct trace_bytes *out, enum trace_block_type type, bool compress,
                     const struct trace_bytes *head, const struct trace_bytes *body);

/* Reads the first TRACE_BLOCK_SIZE bytes of a block. Returns false if they are not those of a
 * block, as they were written. */
bool trace_block_read(struct trace_block *block, const unsigned char *bytes);

#endif
