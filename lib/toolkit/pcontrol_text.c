/* SPDX-License-Identifier: MIT */
/* See pcontrol_text.h. */
#include "toolkit/pcontrol_text.h"

#include "toolkit/safe_read.h"

#include <stdint.h>

/* UTF-8 counts as printable. */
static bool is_printable(const char *text)
{
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < ' ' || c == 0x7f)
            return false;
    }
    return true;
}

bool copy_pcontrol_text(long address, char text[PCONTROL_TEXT_MAX])
{
    const uintptr_t from = (uintptr_t)address;
    size_t length = 0;
    if (from < 4096 ||
        !tool_safe_copy_string(text, (const char *)from, PCONTROL_TEXT_MAX, &length) ||
        length == PCONTROL_TEXT_MAX)
        return false;
    text[length] = '\0';
    return *text && is_printable(text);
}
