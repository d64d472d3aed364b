/* SPDX-License-Identifier: MIT */
/* See block_file.h. */
#define _GNU_SOURCE
#include "trace/block_file.h"

#include "trace/checksum.h"
#include "trace/compression.h"

#include <errno.h>
#include <unistd.h>

bool trace_block_file_read(int descriptor, void *data, size_t size, uint64_t offset)
{
    for (size_t done = 0; done < size;) {
        const ssize_t length =
            pread(descriptor, (char *)data + done, size - done, (off_t)(offset + done));
        if (length < 0 && errno == EINTR)
            continue;
        if (length <= 0)
            return false;
        done += (size_t)length;
    }
    return true;
}

bool trace_block_file_bytes(int descriptor, struct trace_bytes *bytes, size_t size, uint64_t offset)
{
    bytes->size = 0;
    bytes->failed = false;
    if (!trace_bytes_reserve(bytes, size ? size : 1) ||
        !trace_block_file_read(descriptor, bytes->data, size, offset))
        return false;
    bytes->size = size;
    return true;
}

bool trace_block_file_head(int descriptor, uint64_t offset, struct trace_block *block,
                           struct trace_bytes *head)
{
    unsigned char bytes[TRACE_BLOCK_SIZE];
    return trace_block_file_read(descriptor, bytes, sizeof bytes, offset) &&
           trace_block_read(block, bytes) &&
           trace_block_file_bytes(descriptor, head, block->head, offset + TRACE_BLOCK_SIZE) &&
           trace_checksum(0, head->data, head->size) == block->head_checksum;
}

bool trace_block_file_body(int descriptor, uint64_t offset, const struct trace_block *block,
                           struct trace_bytes *body, struct trace_bytes *scratch)
{
    struct trace_bytes *stored = block->compression == TRACE_STORED ? body : scratch;
    if (!trace_block_file_bytes(descriptor, stored, block->stored,
                                offset + TRACE_BLOCK_SIZE + block->head) ||
        trace_checksum(0, stored->data, stored->size) != block->stored_checksum)
        return false;
    if (block->compression == TRACE_STORED)
        return block->stored == block->size;
    body->size = 0;
    body->failed = false;
    if (block->compression != TRACE_ZSTD || !trace_bytes_reserve(body, block->size) ||
        !trace_decompress(body->data, block->size, stored->data, stored->size))
        return false;
    body->size = block->size;
    return true;
}

uint64_t trace_block_total(const struct trace_block *block)
{
    return TRACE_BLOCK_SIZE + (uint64_t)block->head + block->stored;
}
