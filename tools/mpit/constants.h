/* SPDX-License-Identifier: MIT */
/* The constants of MPI_T in words: the standard's names in lower case, without their prefix. "?":
 * the standard has no such constant. */
#ifndef QMPI_TOOL_MPIT_CONSTANTS_H
#define QMPI_TOOL_MPIT_CONSTANTS_H

const char *word_of_verbosity(int verbosity); /* "user_basic" */
const char *word_of_class(int var_class);     /* "counter" */
const char *word_of_scope(int scope);         /* "all_eq" */
const char *word_of_binding(int binding);     /* "comm"; "none" */

#endif
