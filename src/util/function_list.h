/* SPDX-License-Identifier: MIT */
/*
 * Lists of MPI functions in options: names, patterns and groups with `;` between them, such as
 * `MPI_Send;MPI_I*;collective;!MPI_Barrier`. Each item adds functions, or removes them if it starts
 * with `!`. A list that starts with `!` starts from all functions. Case does not matter. The
 * functions themselves are known to the caller only.
 */
#ifndef QMPI_UTIL_FUNCTION_LIST_H
#define QMPI_UTIL_FUNCTION_LIST_H

#include <stdbool.h>

/* What a list says of a function: bits. */
enum {
    QMPI_FUNCTION_LISTED = 1 << 0,
    QMPI_FUNCTION_NAMED = 1 << 1 /* by its full name */
};

/* Sets the name and the group (QMPIX_GROUP_… of <qmpi/observer.h>) of a function. Returns false if
 * there is no such function. */
typedef bool qmpi_function_describer(int number, const char **name, unsigned *group);

/*
 * Reads a list: sets listed[number] for the functions 0 … count - 1. Returns NULL, or the first
 * item that matches no function ("" if there is no item), which the caller frees.
 */
char *qmpi_function_list_read(const char *list, int count, qmpi_function_describer *describe,
                              unsigned char *listed);

/* Returns the message about such an item of an option, with a hint; the caller frees it. */
char *qmpi_function_list_refuse(const char *option, const char *item);

#endif
