/* SPDX-License-Identifier: MIT */
/* See html_parts.h: data in the page. */
#define _GNU_SOURCE
#include "profile/html.h"
#include "profile/html_parts.h"

#ifndef PROFILE_HAVE_ZLIB

bool profile_html_is_supported(void)
{
    return false;
}

FILE *html_data_open(FILE *target)
{
    (void)target;
    return NULL;
}

#else
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

/* Of compressed bytes, three of which become four characters. */
enum { BLOCK = 3 * 4096, GZIP = 16 };

struct encoder {
    FILE *target;
    z_stream stream;
    unsigned char block[BLOCK];
};

bool profile_html_is_supported(void)
{
    return true;
}

/* Prints up to three bytes as four characters. */
static void print_group(FILE *target, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned bits = (unsigned)bytes[0] << 16 | (count > 1 ? (unsigned)bytes[1] << 8 : 0) |
                          (count > 2 ? bytes[2] : 0);
    putc(digits[bits >> 18], target);
    putc(digits[bits >> 12 & 63], target);
    putc(count > 1 ? digits[bits >> 6 & 63] : '=', target);
    putc(count > 2 ? digits[bits & 63] : '=', target);
}

/* Only the last block may be incomplete, or the padding would come amid the data. */
static void print_block(struct encoder *encoder)
{
    const size_t length = BLOCK - encoder->stream.avail_out;
    for (size_t i = 0; i < length; i += 3)
        print_group(encoder->target, encoder->block + i, length - i);
    putc('\n', encoder->target);
    encoder->stream.next_out = encoder->block;
    encoder->stream.avail_out = BLOCK;
}

static ssize_t write_data(void *cookie, const char *data, size_t size)
{
    struct encoder *encoder = cookie;
    z_stream *stream = &encoder->stream;
    const uInt length = (uInt)(size < INT_MAX ? size : INT_MAX);
    stream->next_in = (z_const Bytef *)(uintptr_t)data;
    stream->avail_in = length;
    while (stream->avail_in) {
        if (deflate(stream, Z_NO_FLUSH) == Z_STREAM_ERROR)
            return 0;
        if (!stream->avail_out)
            print_block(encoder);
    }
    return length;
}

static int close_data(void *cookie)
{
    struct encoder *encoder = cookie;
    int result;
    while ((result = deflate(&encoder->stream, Z_FINISH)) == Z_OK || result == Z_BUF_ERROR)
        print_block(encoder);
    print_block(encoder);
    deflateEnd(&encoder->stream);
    free(encoder);
    return result == Z_STREAM_END ? 0 : -1;
}

FILE *html_data_open(FILE *target)
{
    static const cookie_io_functions_t functions = {.write = write_data, .close = close_data};
    struct encoder *encoder = calloc(1, sizeof *encoder);
    if (!encoder)
        return NULL;
    encoder->target = target;
    encoder->stream.next_out = encoder->block;
    encoder->stream.avail_out = BLOCK;
    if (deflateInit2(&encoder->stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP,
                     MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(encoder);
        return NULL;
    }
    FILE *stream = fopencookie(encoder, "w", functions);
    if (!stream) {
        deflateEnd(&encoder->stream);
        free(encoder);
    }
    return stream;
}
#endif
