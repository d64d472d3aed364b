/* SPDX-License-Identifier: MIT */
/* Reads blocks from a file. All functions return false if that is not possible: the file ends, the
 * block is damaged, or memory is exhausted. */
#ifndef QMPI_TRACE_BLOCK_FILE_H
#define QMPI_TRACE_BLOCK_FILE_H

#include "trace/block.h"
#include "trace/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool trace_block_file_read(int descriptor, void *data, size_t size, uint64_t offset);

/* Replaces what is in `bytes`. */
bool trace_block_file_bytes(int descriptor, struct trace_bytes *bytes, size_t size,
                            uint64_t offset);

/* Reads the first bytes of the block at `offset`, and its head. */
bool trace_block_file_head(int descriptor, uint64_t offset, struct trace_block *block,
                           struct trace_bytes *head);

/* Reads the body of the block at `offset`. */
bool trace_block_file_body(int descriptor, uint64_t offset, const struct trace_block *block,
                           struct trace_bytes *body, struct trace_bytes *scratch);

/* How many bytes a block has in the file. */
uint64_t trace_block_total(const struct trace_block *block);

#endif
