/* SPDX-License-Identifier: MIT */
/*
 * The blocks of a file. A file consists of TRACE_MAGIC and blocks. The format of a block:
 *
 *     offset  bytes
 *     0       4      TRACE_BLOCK_MAGIC
 *     4       1      type: enum trace_block_type
 *     5       1      how the body is stored: enum trace_block_compression
 *     6       2      0
 *     8       4      size of the head
 *     12      4      size of the body as stored
 *     16      4      size of the body
 *     20      4      checksum of the head
 *     24      4      checksum of the body as stored
 *     28      4      checksum of bytes 0 to 27
 *     32             the head, which can be read without the body; the body as stored
 */
#ifndef QMPI_TRACE_FILE_BLOCK_H
#define QMPI_TRACE_FILE_BLOCK_H

#include "tools/trace/file/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_MAGIC "QMPITRC1"
#define TRACE_MAGIC_SIZE 8
#define TRACE_BLOCK_MAGIC "QTB\n"
#define TRACE_BLOCK_MAGIC_SIZE 4
#define TRACE_BLOCK_SIZE 32

/* Limits that writers do not exceed; readers refuse larger blocks. */
#define TRACE_HEAD_MAX (UINT32_C(1) << 20)
#define TRACE_BODY_MAX (UINT32_C(1) << 24)

enum trace_block_compression { TRACE_STORED, TRACE_ZSTD };
enum trace_block_type { TRACE_BLOCK_DEFINITIONS = 1, TRACE_BLOCK_EVENTS = 2 };

struct trace_block {
    uint8_t type, compression;
    uint32_t head, stored, size;             /* bytes */
    uint32_t head_checksum, stored_checksum; /* results of trace_block_checksum */
};

/* Appends a block. If `compress` is true, the body is compressed if this makes it smaller. If the
 * block would be too large, sets `failed` of `out`, as if memory were exhausted. */
void trace_block_put(struct trace_bytes *out, enum trace_block_type type, bool compress,
                     const struct trace_bytes *head, const struct trace_bytes *body);

/* Reads the first TRACE_BLOCK_SIZE bytes of a block. Returns false if they are not the beginning of
 * a block, were damaged, or contain too large sizes. */
bool trace_block_read(struct trace_block *block, const unsigned char *bytes);

/* Continues a checksum (the CRC-32 of zlib, gzip and PNG), which starts at 0. It is implemented
 * here, so that the tool needs no further library in the process. */
uint32_t trace_block_checksum(uint32_t checksum, const void *data, size_t size);

/* Opens libzstd in the first call. Returns whether libzstd is available. Without it, blocks are
 * written uncompressed, and compressed blocks cannot be read. */
bool trace_block_open_zstd(void);

/* Returns the last line of a message about compressed blocks that cannot be read. */
const char *trace_block_zstd_hint(void);

/*
 * The following functions up to trace_block_read_body read from a file. They return false if the
 * file cannot be read or ends, the block is damaged, its body is compressed and libzstd is not
 * available, or memory is exhausted.
 */
bool trace_block_read_file(int descriptor, void *data, size_t size, uint64_t offset);

/* Reads `size` bytes, which replace the contents of `bytes`. */
bool trace_block_read_bytes(int descriptor, struct trace_bytes *bytes, size_t size,
                            uint64_t offset);

/* Reads the first bytes of the block at `offset`, and its head. */
bool trace_block_read_head(int descriptor, uint64_t offset, struct trace_block *block,
                           struct trace_bytes *head);

/* Reads the body of the block at `offset`. `scratch` is temporary memory. */
bool trace_block_read_body(int descriptor, uint64_t offset, const struct trace_block *block,
                           struct trace_bytes *body, struct trace_bytes *scratch);

/* Returns the size of a block in the file. */
uint64_t trace_block_total(const struct trace_block *block);

#endif
