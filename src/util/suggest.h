/* SPDX-License-Identifier: MIT */
/* "Did you mean …?" */
#ifndef QMPI_UTIL_SUGGEST_H
#define QMPI_UTIL_SUGGEST_H

/*
 * Returns the word that `word` was most probably meant to be: one that differs from it by few
 * insertions, deletions, replacements and swaps of neighbouring characters, regardless of case.
 * NULL: no word is similar enough. `candidate` returns the word at an index from 0 on, NULL after
 * the last one.
 */
const char *qmpi_suggest(const char *word, const char *(*candidate)(const void *data, int index),
                         const void *data);

/* The same for the words of an array that ends with NULL. */
const char *qmpi_suggest_word(const char *word, const char *const *words);

#endif
