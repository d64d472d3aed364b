/* SPDX-License-Identifier: MIT */
/* See block.h. */
#include "trace/block.h"

#include "trace/bytes.h"
#include "trace/checksum.h"
#include "trace/compression.h"

#define CHECKED 28 /* bytes, before their checksum */

void trace_put_block(struct trace_bytes *out, enum trace_block_type type, bool compress,
                     const struct trace_bytes *head, const struct trace_bytes *body)
{
    const size_t begin = out->size;
    if (head->failed || body->failed || head->size > TRACE_HEAD_MAX ||
        body->size > TRACE_BODY_MAX ||
        !trace_bytes_reserve(out, TRACE_BLOCK_SIZE + head->size + body->size)) {
        out->failed = true;
        return;
    }
    out->size += TRACE_BLOCK_SIZE;
    trace_put_bytes(out, head->data, head->size);
    const size_t stored = out->size;
    const bool is_compressed = compress && trace_compress(out, body->data, body->size);
    if (!is_compressed)
        trace_put_bytes(out, body->data, body->size);
    if (out->failed) {
        out->size = begin;
        return;
    }
    unsigned char *block = out->data + begin;
    const size_t size = out->size - stored;
    memcpy(block, TRACE_BLOCK_MAGIC, TRACE_BLOCK_MAGIC_SIZE);
    block[4] = (unsigned char)type;
    block[5] = is_compressed ? TRACE_ZSTD : TRACE_STORED;
    block[6] = block[7] = 0;
    trace_write_word(block + 8, head->size, 4);
    trace_write_word(block + 12, size, 4);
    trace_write_word(block + 16, body->size, 4);
    trace_write_word(block + 20, trace_checksum(0, head->data, head->size), 4);
    trace_write_word(block + 24, trace_checksum(0, out->data + stored, size), 4);
    trace_write_word(block + CHECKED, trace_checksum(0, block, CHECKED), 4);
}

bool trace_block_read(struct trace_block *block, const unsigned char *bytes)
{
    if (memcmp(bytes, TRACE_BLOCK_MAGIC, TRACE_BLOCK_MAGIC_SIZE) != 0 ||
        trace_checksum(0, bytes, CHECKED) != trace_read_word(bytes + CHECKED, 4))
        return false;
    block->type = bytes[4];
    block->compression = bytes[5];
    block->head = (uint32_t)trace_read_word(bytes + 8, 4);
    block->stored = (uint32_t)trace_read_word(bytes + 12, 4);
    block->size = (uint32_t)trace_read_word(bytes + 16, 4);
    block->head_checksum = (uint32_t)trace_read_word(bytes + 20, 4);
    block->stored_checksum = (uint32_t)trace_read_word(bytes + 24, 4);
    return block->head <= TRACE_HEAD_MAX && block->stored <= TRACE_BODY_MAX &&
           block->size <= TRACE_BODY_MAX;
}
