/* SPDX-License-Identifier: MIT */
/*
 * Compression of blocks by Zstandard. libzstd is opened when it is first needed: a process without
 * it writes blocks as they are, and a reader without it says so.
 */
#ifndef QMPI_TRACE_COMPRESSION_H
#define QMPI_TRACE_COMPRESSION_H

#include "trace/bytes.h"

#include <stdbool.h>
#include <stddef.h>

enum trace_compression { TRACE_STORED, TRACE_ZSTD };

/* Whether blocks can be compressed, and compressed ones can be read. */
bool trace_zstd_is_there(void);

/* The last line of a message about compressed blocks that cannot be read. */
const char *trace_zstd_hint(void);

/* Appends `data`, compressed. Returns false, and appends nothing, if it would not become smaller or
 * libzstd is not there. */
bool trace_compress(struct trace_bytes *out, const void *data, size_t size);

/* Decompresses exactly `size` bytes. Returns false if that is not what `data` contains. */
bool trace_decompress(void *out, size_t size, const void *data, size_t data_size);

#endif
