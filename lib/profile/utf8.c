/* SPDX-License-Identifier: MIT */
/* See utf8.h. */
#include "profile/utf8.h"

/* Well-formed sequences (RFC 3629, section 4): by the first byte how many bytes there are, and what
 * the second one may be: no character has two forms, and none is a surrogate or above U+10FFFF. */
static const struct form {
    unsigned char first_low, first_high, second_low, second_high;
    size_t length;
} forms[] = {
    {0x01, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* A text that ends too early has a 0 where another byte must follow. */
static size_t length_by(const struct form *form, const unsigned char *bytes)
{
    if (form->length > 1 && (bytes[1] < form->second_low || bytes[1] > form->second_high))
        return 0;
    for (size_t i = 2; i < form->length; i++) {
        if (bytes[i] < 0x80 || bytes[i] > 0xbf)
            return 0;
    }
    return form->length;
}

size_t utf8_length(const char *text)
{
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (bytes[0] >= forms[i].first_low && bytes[0] <= forms[i].first_high)
            return length_by(&forms[i], bytes);
    }
    return 0;
}
