/* SPDX-License-Identifier: MIT */
/* What functions= chooses, which functions can be failed, and error classes by name. */
#ifndef QMPI_TOOL_DELAY_FILTER_H
#define QMPI_TOOL_DELAY_FILTER_H

#include <qmpi/qmpi.h>

#include <stdbool.h>

/* What a rule may do to a function: bits. */
enum {
    RULE_ACTS = 1 << 0,  /* the call is counted, delayed, failed */
    RULE_FAILS = 1 << 1, /* the call can be failed */
    RULE_NAMED = 1 << 2, /* functions= has its name in full */
    RULE_MAKES = 1 << 3  /* it makes a request or a message of a communicator, window or file */
};

/*
 * Fills `does` (bits RULE_…) from a list of names, patterns and groups with `;` between them; NULL:
 * all functions. The answer is NULL, else the message for QMPIX_Tool_fail, which the caller frees.
 * `fails`: the layer is to fail calls.
 */
char *choose_functions(const char *list, bool fails, unsigned char does[MPI_LAST_FUNC]);

/* The error class of that name, or the number. False: none. */
bool choose_error(const char *text, int *error);

#endif
