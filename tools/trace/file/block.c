/* SPDX-License-Identifier: MIT */
/* See block.h. */
#define _GNU_SOURCE
#include "tools/trace/file/block.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>
#ifdef TRACE_HAVE_ZSTD
#include <dlfcn.h>
#include <zstd.h>
#endif

/* ---- Checksums: eight bytes at a time ("slicing by 8"), with a table for each byte ----------- */

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

uint32_t trace_block_checksum(uint32_t checksum, const void *data, size_t size)
{
    const unsigned char *at = data;
    uint32_t value = ~checksum;
    pthread_once(&are_made, make_tables);
    for (; size >= 8; size -= 8, at += 8) {
        const uint64_t word = trace_bytes_read_word(at, 8) ^ value;
        value = 0;
        for (int i = 0; i < 8; i++)
            value ^= tables[7 - i][word >> (8 * i) & 0xff];
    }
    for (; size; size--, at++)
        value = value >> 8 ^ tables[0][(value ^ *at) & 0xff];
    return ~value;
}

/* ---- Compression ----------------------------------------------------------------------------- */

#ifdef TRACE_HAVE_ZSTD
/* Only functions that exist since libzstd 1.0 are used, because any libzstd.so.1 may be installed.
 */

/* The fastest regular level. Higher levels make these blocks hardly smaller. */
#define LEVEL 1

static struct {
    __typeof__(ZSTD_createCCtx) *create;
    __typeof__(ZSTD_freeCCtx) *free;
    __typeof__(ZSTD_compressBound) *bound;
    __typeof__(ZSTD_compressCCtx) *compress;
    __typeof__(ZSTD_decompress) *decompress;
    __typeof__(ZSTD_isError) *is_error;
    bool is_there;
} zstd;
static pthread_once_t is_opened = PTHREAD_ONCE_INIT;

/* The loader finds the bundled libzstd by the run path of the object that contains this code. */
static void open_library(void)
{
#ifdef TRACE_BUNDLED_ZSTD
    void *library = dlopen(TRACE_BUNDLED_ZSTD, RTLD_NOW | RTLD_LOCAL);
#else
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
#endif
    if (!library)
        return;
    *(void **)&zstd.create = dlsym(library, "ZSTD_createCCtx");
    *(void **)&zstd.free = dlsym(library, "ZSTD_freeCCtx");
    *(void **)&zstd.bound = dlsym(library, "ZSTD_compressBound");
    *(void **)&zstd.compress = dlsym(library, "ZSTD_compressCCtx");
    *(void **)&zstd.decompress = dlsym(library, "ZSTD_decompress");
    *(void **)&zstd.is_error = dlsym(library, "ZSTD_isError");
    zstd.is_there =
        zstd.create && zstd.free && zstd.bound && zstd.compress && zstd.decompress && zstd.is_error;
}

bool trace_block_open_zstd(void)
{
    pthread_once(&is_opened, open_library);
    return zstd.is_there;
}

const char *trace_block_zstd_hint(void)
{
#ifdef TRACE_BUNDLED_ZSTD
    return "hint: reinstall qmpi, which contains " TRACE_BUNDLED_ZSTD;
#else
    return "hint: install libzstd.so.1 (Debian: libzstd1)";
#endif
}

/* NULL, or a context that is kept for reuse, because it takes a while to create one. A thread takes
 * the context with acquire order and gives it back with release order. */
static ZSTD_CCtx *unused;

static bool compress_body(struct trace_bytes *out, const void *data, size_t size)
{
    if (!trace_block_open_zstd() || !trace_bytes_reserve(out, zstd.bound(size)))
        return false;
    ZSTD_CCtx *context = __atomic_exchange_n(&unused, NULL, __ATOMIC_ACQ_REL);
    if (!context)
        context = zstd.create();
    if (!context)
        return false;
    const size_t result =
        zstd.compress(context, out->data + out->size, out->room - out->size, data, size, LEVEL);
    context = __atomic_exchange_n(&unused, context, __ATOMIC_ACQ_REL);
    if (context)
        zstd.free(context);
    if (zstd.is_error(result) || result >= size)
        return false;
    out->size += result;
    return true;
}

static bool decompress_body(void *out, size_t size, const void *data, size_t data_size)
{
    return trace_block_open_zstd() && zstd.decompress(out, size, data, data_size) == size;
}

#else

bool trace_block_open_zstd(void)
{
    return false;
}

const char *trace_block_zstd_hint(void)
{
    return "hint: build qmpi where zstd.h is (Debian: libzstd-dev)";
}

static bool compress_body(struct trace_bytes *out, const void *data, size_t size)
{
    (void)out, (void)data, (void)size;
    return false;
}

static bool decompress_body(void *out, size_t size, const void *data, size_t data_size)
{
    (void)out, (void)size, (void)data, (void)data_size;
    return false;
}

#endif

/* ---- Blocks in memory ------------------------------------------------------------------------ */

#define CHECKED 28 /* the offset of the checksum of all bytes before it */

void trace_block_put(struct trace_bytes *out, enum trace_block_type type, bool compress,
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
    trace_bytes_put(out, head->data, head->size);
    const size_t stored = out->size;
    const bool is_compressed = compress && compress_body(out, body->data, body->size);
    if (!is_compressed)
        trace_bytes_put(out, body->data, body->size);
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
    trace_bytes_write_word(block + 8, head->size, 4);
    trace_bytes_write_word(block + 12, size, 4);
    trace_bytes_write_word(block + 16, body->size, 4);
    trace_bytes_write_word(block + 20, trace_block_checksum(0, head->data, head->size), 4);
    trace_bytes_write_word(block + 24, trace_block_checksum(0, out->data + stored, size), 4);
    trace_bytes_write_word(block + CHECKED, trace_block_checksum(0, block, CHECKED), 4);
}

bool trace_block_read(struct trace_block *block, const unsigned char *bytes)
{
    if (memcmp(bytes, TRACE_BLOCK_MAGIC, TRACE_BLOCK_MAGIC_SIZE) != 0 ||
        trace_block_checksum(0, bytes, CHECKED) != trace_bytes_read_word(bytes + CHECKED, 4))
        return false;
    block->type = bytes[4];
    block->compression = bytes[5];
    block->head = (uint32_t)trace_bytes_read_word(bytes + 8, 4);
    block->stored = (uint32_t)trace_bytes_read_word(bytes + 12, 4);
    block->size = (uint32_t)trace_bytes_read_word(bytes + 16, 4);
    block->head_checksum = (uint32_t)trace_bytes_read_word(bytes + 20, 4);
    block->stored_checksum = (uint32_t)trace_bytes_read_word(bytes + 24, 4);
    return block->head <= TRACE_HEAD_MAX && block->stored <= TRACE_BODY_MAX &&
           block->size <= TRACE_BODY_MAX;
}

/* ---- Blocks in a file ------------------------------------------------------------------------ */

bool trace_block_read_file(int descriptor, void *data, size_t size, uint64_t offset)
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

bool trace_block_read_bytes(int descriptor, struct trace_bytes *bytes, size_t size, uint64_t offset)
{
    bytes->size = 0;
    bytes->failed = false;
    if (!trace_bytes_reserve(bytes, size ? size : 1) ||
        !trace_block_read_file(descriptor, bytes->data, size, offset))
        return false;
    bytes->size = size;
    return true;
}

bool trace_block_read_head(int descriptor, uint64_t offset, struct trace_block *block,
                           struct trace_bytes *head)
{
    unsigned char bytes[TRACE_BLOCK_SIZE];
    return trace_block_read_file(descriptor, bytes, sizeof bytes, offset) &&
           trace_block_read(block, bytes) &&
           trace_block_read_bytes(descriptor, head, block->head, offset + TRACE_BLOCK_SIZE) &&
           trace_block_checksum(0, head->data, head->size) == block->head_checksum;
}

bool trace_block_read_body(int descriptor, uint64_t offset, const struct trace_block *block,
                           struct trace_bytes *body, struct trace_bytes *scratch)
{
    struct trace_bytes *stored = block->compression == TRACE_STORED ? body : scratch;
    if (!trace_block_read_bytes(descriptor, stored, block->stored,
                                offset + TRACE_BLOCK_SIZE + block->head) ||
        trace_block_checksum(0, stored->data, stored->size) != block->stored_checksum)
        return false;
    if (block->compression == TRACE_STORED)
        return block->stored == block->size;
    body->size = 0;
    body->failed = false;
    if (block->compression != TRACE_ZSTD || !trace_bytes_reserve(body, block->size) ||
        !decompress_body(body->data, block->size, stored->data, stored->size))
        return false;
    body->size = block->size;
    return true;
}

uint64_t trace_block_total(const struct trace_block *block)
{
    return TRACE_BLOCK_SIZE + (uint64_t)block->head + block->stored;
}
