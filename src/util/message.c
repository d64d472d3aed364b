/* SPDX-License-Identifier: MIT */
/* See message.h. */
#define _GNU_SOURCE
#include "util/message.h"

#include "util/launcher.h"
#include "util/memory.h"
#include "util/output.h"
#include "util/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *qmpi_getenv(const char *name)
{
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* A text that is being written. A stream is not used, because opening it would take longer than
 * formatting most texts, many of which are never shown. */
struct text {
    char *bytes; /* ends with a null character; NULL: empty */
    size_t length, room;
};

static void append_bytes(struct text *text, const char *bytes, size_t length)
{
    enum { SPARE = 64 }; /* with this, most texts of start-up are allocated once */
    if (text->room - text->length <= length &&
        !QMPI_MEMORY_RESERVE(text->bytes, text->room, text->length + length + SPARE))
        qmpi_memory_exhausted();
    memcpy(text->bytes + text->length, bytes, length);
    text->bytes[text->length += length] = '\0';
}

/* Formats a number; text that does not fit is cut off. */
static void append_format(struct text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void append_format(struct text *text, const char *format, ...)
{
    char number[512]; /* the longest double has 309 digits before the point */
    va_list list;
    va_start(list, format);
    const int length = vsnprintf(number, sizeof number, format, list);
    va_end(list);
    append_bytes(text, number, length < (int)sizeof number ? (size_t)length : sizeof number - 1);
}

/* Returns the number of bytes at the beginning that need not be escaped. */
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
        append_bytes(text, shown + i, plain);
        i += plain;
        if (i == length)
            break;
        const char *letter = bytes[i] ? strchr(special, bytes[i]) : NULL;
        size_t taken = qmpi_text_character_length_within(shown + i, length - i);
        const bool is_shown = bytes[i] >= ' ' ? taken && !qmpi_text_is_control(shown + i)
                                              : bytes[i] == '\n' && preserve_newlines;
        if (is_shown) {
            append_bytes(text, shown + i, taken);
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

/* A conversion: `%`, then flags, width, precision, and the size and type of the argument. */
struct conversion {
    char text[16];
    bool shown_as_is; /* the conversion is %-s: the text keeps its line breaks */
    int precision;    /* -1: none */
    char size;        /* h, l, L (for ll) or z; 0: none */
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
        abort(); /* the format is invalid, which is an error in libqmpi */
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
#pragma GCC diagnostic ignored "-Wformat-nonliteral" /* the compiler checks the format where the   \
                                                        message is written */

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
        append_bytes(text, "%", 1);
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
            /* On Linux, size_t is as wide as long. */
            append_format(text, format, va_arg(*list, long));
        else
            append_format(text, format, va_arg(*list, int));
    }
}

#pragma GCC diagnostic pop

char *qmpi_message_list(const char *format, va_list list)
{
    struct text text = {NULL, 0, 0};
    va_list arguments; /* a copy, because a pointer to a parameter of this type has another type */
    va_copy(arguments, list);
    append_bytes(&text, "", 0);
    while (*format) {
        const size_t plain = strcspn(format, "%");
        struct conversion conversion;
        append_bytes(&text, format, plain);
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

char *qmpi_message_shorten(const char *text)
{
    enum { SHOWN = 120 };
    const size_t whole = strlen(text);
    size_t shown = whole < SHOWN ? whole : SHOWN;
    while (shown < whole && shown && ((unsigned char)text[shown] & 0xc0) == 0x80)
        shown--; /* do not cut a UTF-8 character */
    return shown < whole ? qmpi_message("%.*s… (%zu bytes)", (int)shown, text, whole)
                         : qmpi_message("%s", text);
}

/* ---- Writing --------------------------------------------------------------------------------- */

struct saying {
    const char *prefix, *text;
    const char *format; /* used with `list` instead of `text` */
    va_list *list;
};

/* Prints the lines of a text. Control characters are escaped, whatever the text contains. */
static void print_lines(const char *prefix, const char *text)
{
    char *all;
    size_t length;
    FILE *stream = open_memstream(&all, &length);
    if (!stream)
        qmpi_memory_exhausted();
    while (*text) {
        const size_t line = strcspn(text, "\n");
        char *shown = qmpi_message("%.*s", (int)line, text);
        fprintf(stream, "%s%s\n", prefix, shown);
        free(shown);
        text += line + (text[line] == '\n');
    }
    /* If fclose has no memory to shorten the text, it returns 0, and there is no text. */
    if (fclose(stream) || !all)
        qmpi_memory_exhausted();
    qmpi_output_standard_write(STDERR_FILENO, all, length);
    free(all);
}

static void say_text(void *data)
{
    const struct saying *saying = data;
    print_lines(saying->prefix, saying->text);
}

static void say_format(void *data)
{
    const struct saying *saying = data;
    char *text = qmpi_message_list(saying->format, *saying->list);
    print_lines(saying->prefix, text);
    free(text);
}

/* Prints one line with as much of the text as fits, because memory is exhausted. */
static void say_shortly(const char *prefix, const char *text)
{
    char line[512];
    const size_t length = strnlen(text, 400);
    int used = snprintf(line, sizeof line, "%s%.*s", prefix, (int)length, text);
    for (int i = 0; i < used; i++) {
        if ((unsigned char)line[i] < ' ' || line[i] == 127)
            line[i] = line[i] == '\n' ? ';' : '?';
    }
    line[used++] = '\n';
    qmpi_output_standard_write(STDERR_FILENO, line, (size_t)used);
}

/* Prints a message. A lack of memory must not end the process, because the message may be about the
 * lack of memory. */
static void say_with(const char *prefix, const char *text)
{
    struct saying saying = {.prefix = prefix, .text = text};
    if (!qmpi_memory_catch_exhausted(say_text, &saying))
        say_shortly(prefix, text);
}

void qmpi_print(const char *text)
{
    say_with("qmpi: ", text);
}

void qmpi_printf(const char *format, ...)
{
    va_list list, again;
    char text[448];
    va_start(list, format);
    va_copy(again, list);
    struct saying saying = {.prefix = "qmpi: ", .format = format, .list = &list};
    if (!qmpi_memory_catch_exhausted(say_format, &saying)) {
        vsnprintf(text, sizeof text, format, again);
        say_shortly("qmpi: ", text);
    }
    va_end(again);
    va_end(list);
}

/* ---- Debugging ------------------------------------------------------------------------------- */

static const char *const topics[QMPI_TOPIC_COUNT] = {"parse", "find", "load", "base", "chain"};
static bool traced[QMPI_TOPIC_COUNT];

static bool trace_topic(const char *name, size_t length)
{
    const bool all = length == 3 && !memcmp(name, "all", 3);
    bool known = all;
    for (int topic = 0; topic < QMPI_TOPIC_COUNT; topic++) {
        if (all || (strlen(topics[topic]) == length && !memcmp(topics[topic], name, length)))
            known = traced[topic] = true;
    }
    return known;
}

bool qmpi_message_knows_topic(const char *name, size_t length)
{
    bool known = length == 3 && !memcmp(name, "all", 3);
    for (int topic = 0; topic < QMPI_TOPIC_COUNT; topic++)
        known |= strlen(topics[topic]) == length && !memcmp(topics[topic], name, length);
    return known;
}

void qmpi_message_debug_start(const char *list)
{
    while (list && *list) {
        const size_t length = strcspn(list, ", ");
        if (length && !trace_topic(list, length) && qmpi_launcher_reports()) {
            char *name = qmpi_copy_part(list, length);
            char *shown = qmpi_message_shorten(name);
            qmpi_printf("QMPI_DEBUG: unknown topic '%s'\n  " QMPI_TOPICS_HINT, shown);
            free(shown);
            free(name);
        }
        list += length + (list[length] != '\0');
    }
}

bool qmpi_message_debugs(enum qmpi_message_topic topic)
{
    return traced[topic];
}

void qmpi_debug(enum qmpi_message_topic topic, const char *format, ...)
{
    if (!traced[topic])
        return;
    va_list list;
    va_start(list, format);
    char *text = qmpi_message_list(format, list);
    va_end(list);
    const int rank = qmpi_launcher_rank();
    char *prefix = rank < 0 ? qmpi_format("qmpi: %s: ", topics[topic])
                            : qmpi_format("qmpi: rank %d: %s: ", rank, topics[topic]);
    say_with(prefix, text);
    free(prefix);
    free(text);
}
