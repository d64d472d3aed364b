/* SPDX-License-Identifier: MIT */
/*
 * Texts as messages show them: see message.h. What a terminal would interpret, and what is not
 * text, is written out; and a format's own lines are told from those of its arguments.
 */
#define _GNU_SOURCE
#include "util/message.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* The length of the UTF-8 character that `text` begins with; 0: it begins with none. */
static size_t character_length(const unsigned char *text, size_t left)
{
    const unsigned char first = text[0];
    const size_t length = first < 0x80   ? 1
                          : first < 0xc2 ? 0
                          : first < 0xe0 ? 2
                          : first < 0xf0 ? 3
                          : first < 0xf5 ? 4
                                         : 0;
    if (length > left)
        return 0;
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    }
    /* Longer than needed, a surrogate, or beyond the last character. */
    if ((first == 0xe0 && text[1] < 0xa0) || (first == 0xed && text[1] > 0x9f) ||
        (first == 0xf0 && text[1] < 0x90) || (first == 0xf4 && text[1] > 0x8f))
        return 0;
    return length;
}

/* Those that a terminal acts upon: of ASCII, and U+0080 to U+009F. */
static bool is_control(const unsigned char *text)
{
    return text[0] < 0x20 || text[0] == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0);
}

/* A text that is being made. A stream would cost more than most texts: these are also made for
 * messages that are rarely shown. */
struct text {
    char *bytes; /* ends with a null character; NULL: empty */
    size_t length, room;
};

static void append(struct text *text, const char *bytes, size_t length)
{
    if (text->room - text->length <= length) {
        text->room = 2 * text->room + length + 64;
        text->bytes = realloc(text->bytes, text->room);
        if (!text->bytes)
            qmpi_out_of_memory();
    }
    memcpy(text->bytes + text->length, bytes, length);
    text->bytes[text->length += length] = '\0';
}

/* For numbers: what does not fit is cut. */
static void append_format(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append_format(struct text *text, const char *format, ...)
{
    char number[512]; /* the longest double has 309 digits before the point */
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(number, sizeof number, format, list);
    va_end(list);
    append(text, number, length < (int)sizeof number ? (size_t)length : sizeof number - 1);
}

/* The number of bytes at the beginning that need no attention. */
static size_t plain_length(const unsigned char *bytes, size_t length)
{
    size_t plain = 0;
    while (plain < length && bytes[plain] >= 0x20 && bytes[plain] < 0x7f)
        plain++;
    return plain;
}

static void append_escaped(struct text *text, const char *shown, size_t length,
                           bool preserve_newlines)
{
    static const char special[] = "\a\b\t\n\v\f\r", letters[] = "abtnvfr";
    const unsigned char *bytes = (const unsigned char *)shown;
    for (size_t i = 0; i < length;) {
        const size_t plain = plain_length(bytes + i, length - i);
        append(text, shown + i, plain);
        i += plain;
        if (i == length)
            break;
        const char *letter = bytes[i] ? strchr(special, bytes[i]) : NULL;
        size_t taken = character_length(bytes + i, length - i);
        if (taken && (!is_control(bytes + i) || (bytes[i] == '\n' && preserve_newlines))) {
            append(text, shown + i, taken);
        } else if (letter) {
            append_format(text, "\\%c", letters[letter - special]);
        } else {
            taken = taken ? taken : 1;
            for (size_t k = 0; k < taken; k++)
                append_format(text, "\\x%02x", bytes[i + k]);
        }
        i += taken;
    }
}

/* A conversion: `%`, then flags, width and precision, then the argument's length and type. */
struct conversion {
    char text[16];
    bool shown_as_is; /* %-s */
    int precision;    /* -1: none */
    char size;        /* h, l, L (ll), z; 0: none */
    char type;
};

static const char *read_conversion(const char *format, struct conversion *conversion, va_list *list)
{
    const char *at = format + 1;
    *conversion = (struct conversion){.precision = -1};
    conversion->shown_as_is = *at == '-';
    at += strspn(at, "-+ #0123456789");
    if (at[0] == '.' && at[1] == '*') {
        conversion->precision = va_arg(*list, int);
        at += 2;
    } else if (at[0] == '.') {
        char *end;
        conversion->precision = (int)strtol(at + 1, &end, 10);
        at = end;
    }
    while (*at && strchr("hlz", *at)) {
        conversion->size = conversion->size == 'l' ? 'L' : *at;
        at++;
    }
    conversion->type = *at;
    const size_t length = (size_t)(at - format) + 1;
    if (!*at || length >= sizeof conversion->text)
        abort(); /* a mistake in our own code */
    memcpy(conversion->text, format, length);
    return at + 1;
}

static void append_string(struct text *text, const struct conversion *conversion,
                          const char *string)
{
    const size_t limit = conversion->precision < 0 ? SIZE_MAX : (size_t)conversion->precision;
    const char *shown = string ? string : "(null)";
    append_escaped(text, shown, strnlen(shown, limit), conversion->shown_as_is);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* checked where the message is written */

static void append_argument(struct text *text, const struct conversion *conversion, va_list *list)
{
    const char *format = conversion->text;
    char character;
    switch (conversion->type) {
    case 's':
        append_string(text, conversion, va_arg(*list, const char *));
        break;
    case 'c':
        character = (char)va_arg(*list, int);
        append_escaped(text, &character, 1, false);
        break;
    case '%':
        append(text, "%", 1);
        break;
    case 'p':
        append_format(text, format, va_arg(*list, void *));
        break;
    case 'e':
    case 'f':
    case 'g':
        append_format(text, format, va_arg(*list, double));
        break;
    default:
        if (conversion->size == 'L')
            append_format(text, format, va_arg(*list, long long));
        else if (conversion->size == 'l' || conversion->size == 'z')
            append_format(text, format, va_arg(*list, long)); /* on Linux as wide as size_t */
        else
            append_format(text, format, va_arg(*list, int));
    }
}

#pragma GCC diagnostic pop

char *qmpi_message_list(const char *format, va_list list)
{
    struct text text = {NULL, 0, 0};
    va_list arguments; /* its address can be passed on, a parameter's cannot */
    va_copy(arguments, list);
    append(&text, "", 0);
    while (*format) {
        const size_t plain = strcspn(format, "%");
        struct conversion conversion;
        append(&text, format, plain);
        format += plain;
        if (!*format)
            break;
        format = read_conversion(format, &conversion, &arguments);
        append_argument(&text, &conversion, &arguments);
    }
    va_end(arguments);
    return text.bytes;
}

char *qmpi_message(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    char *text = qmpi_message_list(format, list);
    va_end(list);
    return text;
}

char *qmpi_shorten(const char *text)
{
    enum { SHOWN = 120 };
    const size_t whole = strlen(text);
    size_t shown = whole < SHOWN ? whole : SHOWN;
    while (shown < whole && shown && ((unsigned char)text[shown] & 0xc0) == 0x80)
        shown--; /* not inside a UTF-8 character */
    return shown < whole ? qmpi_message("%.*s… (%zu characters)", (int)shown, text, whole)
                         : qmpi_message("%s", text);
}
