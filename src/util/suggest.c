/* SPDX-License-Identifier: MIT */
/* See suggest.h. The distance is that of Damerau and Levenshtein between adjacent characters. */
#include "util/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Longer words are not misspelt names. */
enum { LENGTH_MAX = 63, FAR = LENGTH_MAX + 1 };

static bool is_same(char one, char other)
{
    return tolower((unsigned char)one) == tolower((unsigned char)other);
}

static int smaller(int one, int other)
{
    return one < other ? one : other;
}

static int distance(const char *one, const char *other)
{
    /* The last three lines of the table: line i is for the first i characters of `one`. */
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

const char *qmpi_suggest(const char *word, const char *(*candidate)(const void *data, int index),
                         const void *data)
{
    const char *best = NULL, *next;
    /* One error in three characters: "cuont" for "count", not "log" for "top". */
    int nearest = (int)strlen(word) / 3 + (strlen(word) == 2) + 1;
    for (int i = 0; (next = candidate(data, i)); i++) {
        const int away = distance(word, next);
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

const char *qmpi_suggest_word(const char *word, const char *const *words)
{
    return qmpi_suggest(word, word_at, words);
}
