/* SPDX-License-Identifier: MIT */
/* See json_text.h. */
#include "trace/json_text.h"

#include "trace/utf8.h"

#include <inttypes.h>

void trace_json_string(FILE *stream, const char *text)
{
    putc_unlocked('"', stream);
    for (size_t length; *text; text += length) {
        const unsigned char byte = (unsigned char)*text;
        length = trace_utf8_length(text);
        if (!length) {
            fputs("\\ufffd", stream);
            length = 1;
        } else if (byte == '"' || byte == '\\') {
            putc_unlocked('\\', stream);
            putc_unlocked(byte, stream);
        } else if (byte < ' ' || byte == 0x7f) {
            fprintf(stream, "\\u%04x", byte);
        } else {
            fwrite(text, 1, length, stream);
        }
    }
    putc_unlocked('"', stream);
}

static void begin_member(FILE *stream, const char **separator, const char *name)
{
    fprintf(stream, "%s\"%s\":", *separator, name);
    *separator = ",";
}

void trace_json_member_number(FILE *stream, const char **separator, const char *name, int64_t value)
{
    begin_member(stream, separator, name);
    fprintf(stream, "%" PRId64, value);
}

void trace_json_member_string(FILE *stream, const char **separator, const char *name,
                              const char *text)
{
    begin_member(stream, separator, name);
    trace_json_string(stream, text);
}

void trace_json_time(FILE *stream, int64_t nanoseconds)
{
    const uint64_t size = nanoseconds < 0 ? -(uint64_t)nanoseconds : (uint64_t)nanoseconds;
    fprintf(stream, "%s%" PRIu64 ".%03u", nanoseconds < 0 ? "-" : "", size / 1000,
            (unsigned)(size % 1000));
}
