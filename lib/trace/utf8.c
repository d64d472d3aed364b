/* SPDX-License-Identifier: MIT */
/* See utf8.h; RFC 3629. */
#include "trace/utf8.h"

#include <stdint.h>
#include <string.h>

size_t trace_utf8_length(const char *text)
{
    static const struct {
        unsigned char mask, head;
        uint32_t least;
    } forms[] = {{0x80, 0, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if ((bytes[0] & forms[i].mask) != forms[i].head)
            continue;
        uint32_t value = bytes[0] & (unsigned char)~forms[i].mask;
        for (size_t k = 1; k <= i; k++) {
            if ((bytes[k] & 0xc0) != 0x80)
                return 0;
            value = value << 6 | (bytes[k] & 0x3f);
        }
        const bool is_surrogate = value >= 0xd800 && value < 0xe000;
        return value < forms[i].least || value > 0x10ffff || is_surrogate ? 0 : i + 1;
    }
    return 0;
}

const char *trace_utf8(const char *text, char *room, size_t size)
{
    const char *at = text;
    size_t used = 0;
    while (*at && trace_utf8_length(at))
        at += trace_utf8_length(at);
    if (!*at)
        return text;
    for (at = text; *at;) {
        const size_t length = trace_utf8_length(at);
        const char *from = length ? at : "\xef\xbf\xbd";
        const size_t count = length ? length : 3;
        if (used + count >= size)
            break;
        memcpy(room + used, from, count);
        used += count;
        at += length ? length : 1;
    }
    room[used] = '\0';
    return room;
}
