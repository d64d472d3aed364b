/* SPDX-License-Identifier: MIT */
/*
 * The names of unique symbols (elf/copy.h) that the copies of a layer have for themselves: those
 * that a copied library of the layer defines, except if another library that the tool needs has a
 * symbol of this name and is not copied. The tool shares such a symbol with that library, for
 * example with libstdc++, and all its layers do so.
 */
#ifndef QMPI_PMPI_UNIQUE_H
#define QMPI_PMPI_UNIQUE_H

#include <stdbool.h>

struct qmpi_layer;
struct qmpi_unique_name;

/* A set of names, which begins with {.names = NULL}. */
struct qmpi_unique {
    struct qmpi_unique_name *names; /* sorted by qmpi_unique_add_layer */
    int count;
};

/* Adds the names of the unique symbols that a library defines. */
void qmpi_unique_add(struct qmpi_unique *unique, const char *path);

/* Adds the names that are private to loaded copies of the layer, and removes those that other
 * symbols of its loaded objects have. Called after the last qmpi_unique_add, and before the
 * functions below. */
void qmpi_unique_add_layer(struct qmpi_unique *unique, const struct qmpi_layer *layer);

/* Removes the names of all symbols that a library defines or refers to. */
void qmpi_unique_remove(struct qmpi_unique *unique, const char *path);

bool qmpi_unique_has(const struct qmpi_unique *unique, const char *name);

void qmpi_unique_free(struct qmpi_unique *unique);

#endif
