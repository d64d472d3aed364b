/* SPDX-License-Identifier: MIT */
/* What the numbers that MPI functions are given mean, in the words of mpi.h. */
#ifndef QMPI_TOOL_LOG_CONSTANTS_H
#define QMPI_TOOL_LOG_CONSTANTS_H

#include "text.h"

/* What a parameter of an integer type is. */
enum how {
    HOW_NUMBER,
    HOW_RANK,
    HOW_TAG,
    HOW_FLAG,
    HOW_UNDEFINED, /* a number or MPI_UNDEFINED */
    HOW_ERROR,
    HOW_THREAD,
    HOW_COMPARISON,
    HOW_TOPOLOGY,
    HOW_FILE_MODE,
    HOW_ASSERT,
    HOW_LOCK,
    HOW_WHENCE,
    HOW_COMBINER,
    HOW_ORDER,
    HOW_DISTRIBUTION,
    HOW_DISTRIBUTION_ARGUMENT,
    HOW_SPLIT,
    HOW_TYPE_CLASS,
    HOW_KEYVAL,
    HOW_VERBOSITY,
    HOW_BINDING,
    HOW_SCOPE,
    HOW_VARIABLE_CLASS,
    HOW_SAFETY,
    HOW_SOURCE_ORDER
};

/* The word, the words of the bits, or the number. */
void words_add(struct text *text, enum how how, long long value);

/* The name of an error class; NULL: it has none. */
const char *words_error(int value);

#endif
