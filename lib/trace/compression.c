/* SPDX-License-Identifier: MIT */
/* See compression.h. Only functions that libzstd has had since 1.0 are used. */
#include "trace/compression.h"

#include "trace/bytes.h"

#ifdef TRACE_HAVE_ZSTD
#include <dlfcn.h>
#include <pthread.h>
#include <zstd.h>

/* The fastest of the regular levels: higher ones make these blocks hardly smaller. */
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

static void open_library(void)
{
    void *library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
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

bool trace_zstd_is_there(void)
{
    pthread_once(&is_opened, open_library);
    return zstd.is_there;
}

const char *trace_zstd_hint(void)
{
    return "hint: install libzstd.so.1 (Debian: libzstd1)";
}

/* A context takes a while to make: the last one is used again by whoever comes next. */
static ZSTD_CCtx *unused;

bool trace_compress(struct trace_bytes *out, const void *data, size_t size)
{
    if (!trace_zstd_is_there() || !trace_bytes_reserve(out, zstd.bound(size)))
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

bool trace_decompress(void *out, size_t size, const void *data, size_t data_size)
{
    return trace_zstd_is_there() && zstd.decompress(out, size, data, data_size) == size;
}

#else

bool trace_zstd_is_there(void)
{
    return false;
}

const char *trace_zstd_hint(void)
{
    return "hint: build qmpi where zstd.h is (Debian: libzstd-dev)";
}

bool trace_compress(struct trace_bytes *out, const void *data, size_t size)
{
    (void)out, (void)data, (void)size;
    return false;
}

bool trace_decompress(void *out, size_t size, const void *data, size_t data_size)
{
    (void)out, (void)size, (void)data, (void)data_size;
    return false;
}

#endif
