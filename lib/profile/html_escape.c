/* SPDX-License-Identifier: MIT */
/* See html_parts.h: text in markup. */
#include "profile/html_parts.h"
#include "profile/utf8.h"

static const char *entity(unsigned char byte)
{
    static const char *const entities[128] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;", ['\''] = "&#39;"};
    if (byte < ' ' && byte != '\n' && byte != '\t')
        return UTF8_REPLACEMENT;
    return byte < 128 ? entities[byte] : NULL;
}

void html_escape(FILE *stream, const char *text)
{
    while (text && *text) {
        const size_t length = utf8_length(text);
        const char *other = length ? entity((unsigned char)*text) : UTF8_REPLACEMENT;
        if (other)
            fputs(other, stream);
        else
            fwrite(text, 1, length, stream);
        text += length ? length : 1;
    }
}
