/* SPDX-License-Identifier: MIT */
/* See text.h. */
#define _GNU_SOURCE
#include "util/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

/* The well-formed sequences (RFC 3629, section 4), by their first bytes. The limits of the second
 * byte exclude overlong forms, surrogates, and characters above U+10FFFF. */
static const struct form {
    unsigned char first_low, first_high, second_low, second_high;
    size_t length;
} forms[] = {
    {0x01, 0x7f, 0x00, 0x00, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
    {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

/* Returns the length of the sequence, or 0 if it does not match the form. If the text ends too
 * early, its null character does not match. */
static size_t match_form(const struct form *form, const unsigned char *bytes, size_t left)
{
    if (form->length > left)
        return 0;
    if (form->length > 1 && (bytes[1] < form->second_low || bytes[1] > form->second_high))
        return 0;
    for (size_t i = 2; i < form->length; i++) {
        if (bytes[i] < 0x80 || bytes[i] > 0xbf)
            return 0;
    }
    return form->length;
}

size_t qmpi_text_character_length_within(const char *text, size_t left)
{
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (bytes[0] >= forms[i].first_low && bytes[0] <= forms[i].first_high)
            return match_form(&forms[i], bytes, left);
    }
    return 0;
}

size_t qmpi_text_character_length(const char *text)
{
    return qmpi_text_character_length_within(text, SIZE_MAX);
}

bool qmpi_text_is_control(const char *text)
{
    const unsigned char first = (unsigned char)text[0];
    if (first == '\t' || first == '\n' || first == '\r')
        return false;
    return first < ' ' || first == 0x7f || (first == 0xc2 && (unsigned char)text[1] < 0xa0);
}

const char *qmpi_text_make_valid(const char *text, char *room, size_t size)
{
    const char *at = text;
    size_t used = 0;
    while (*at && qmpi_text_character_length(at))
        at += qmpi_text_character_length(at);
    if (!*at)
        return text;
    for (at = text; *at;) {
        const size_t length = qmpi_text_character_length(at);
        const char *from = length ? at : QMPI_TEXT_REPLACEMENT;
        const size_t count = length ? length : strlen(QMPI_TEXT_REPLACEMENT);
        if (used + count >= size)
            break;
        memcpy(room + used, from, count);
        used += count;
        at += length ? length : 1;
    }
    room[used] = '\0';
    return room;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

void qmpi_text_put_csv(FILE *stream, const char *text)
{
    const bool quotes = text[strcspn(text, ",\"\t\r\n")];
    if (quotes)
        putc_unlocked('"', stream);
    for (size_t plain; *text;) {
        for (plain = 0; text[plain] >= ' ' && text[plain] < 0x7f && text[plain] != '"';)
            plain++;
        if (plain) {
            fwrite_unlocked(text, 1, plain, stream);
            text += plain;
            continue;
        }
        const size_t length = qmpi_text_character_length(text);
        if (*text == '"')
            putc_unlocked('"', stream);
        if (length && !qmpi_text_is_control(text))
            fwrite(text, 1, length, stream);
        else
            fputs(QMPI_TEXT_REPLACEMENT, stream);
        text += length ? length : 1;
    }
    if (quotes)
        putc_unlocked('"', stream);
}

/* ---- Similar words --------------------------------------------------------------------------- */

/* The Damerau-Levenshtein distance, which counts a transposition of adjacent characters as one
 * edit. Words that are longer than LENGTH_MAX are not taken for misspelt names. */
enum { LENGTH_MAX = 63, FAR = LENGTH_MAX + 1 };

static bool is_same(char one, char other)
{
    return tolower((unsigned char)one) == tolower((unsigned char)other);
}

static int smaller(int one, int other)
{
    return one < other ? one : other;
}

static int edit_distance(const char *one, const char *other)
{
    /* The last three rows of the table. Row i is for the first i characters of `one`. */
    int table[3][LENGTH_MAX + 1];
    const size_t lengths[] = {strlen(one), strlen(other)};
    if (lengths[0] > LENGTH_MAX || lengths[1] > LENGTH_MAX)
        return FAR;
    for (int k = 0; k <= (int)lengths[1]; k++)
        table[0][k] = k;
    for (int i = 1; i <= (int)lengths[0]; i++) {
        int *now = table[i % 3];
        const int *before = table[(i + 2) % 3], *earlier = table[(i + 1) % 3];
        now[0] = i;
        for (int k = 1; k <= (int)lengths[1]; k++) {
            const int replaced = before[k - 1] + !is_same(one[i - 1], other[k - 1]);
            now[k] = smaller(replaced, 1 + smaller(before[k], now[k - 1]));
            if (i > 1 && k > 1 && is_same(one[i - 1], other[k - 2]) &&
                is_same(one[i - 2], other[k - 1]))
                now[k] = smaller(now[k], earlier[k - 2] + 1);
        }
    }
    return table[lengths[0] % 3][lengths[1]];
}

const char *qmpi_text_suggest(const char *word,
                              const char *(*candidate)(const void *data, int index),
                              const void *data)
{
    const char *best = NULL, *next;
    /* Allows one error in three characters: "cuont" is similar to "count", but "log" not to
     * "top". */
    int nearest = (int)strlen(word) / 3 + (strlen(word) == 2) + 1;
    for (int i = 0; (next = candidate(data, i)); i++) {
        const int away = edit_distance(word, next);
        if (away < nearest) {
            nearest = away;
            best = next;
        }
    }
    return best;
}

static const char *word_at(const void *data, int index)
{
    const char *const *words = data;
    return words[index];
}

const char *qmpi_text_suggest_word(const char *word, const char *const *words)
{
    return qmpi_text_suggest(word, word_at, words);
}
