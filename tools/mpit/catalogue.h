/* SPDX-License-Identifier: MIT */
/* All variables and categories below a layer of mpit, with their values at one time, and functions
 * that print them. */
#ifndef QMPI_TOOL_MPIT_CATALOGUE_H
#define QMPI_TOOL_MPIT_CATALOGUE_H

#include "tools/mpit/samples.h"
#include "tools/mpit/variable.h"

#include <stdio.h>

/* Indices of MPI_T, which are also those of the catalogue's arrays. */
struct catalogue_members {
    int *indices;
    int count;
};

struct catalogue_category {
    char *name, *description;
    struct catalogue_members cvars, pvars, categories;
};

struct catalogue {
    struct variable *cvars, *pvars;
    struct catalogue_category *categories;
    int cvar_count, pvar_count, category_count;
    bool early; /* some values were read before MPI_Init */
};

/*
 * Reads all variables and categories. MPI_T must be initialized. Variables in `watch` are read by
 * its handles, which count from their start; `watch` may be NULL. Variables bound to communicators
 * are read for MPI_COMM_WORLD if `has_world` is true. If variables of the library have disappeared
 * (see variable.h), its control variables have the values in `early`, and its performance variables
 * are read only if `patterns`, which the user has given, contain their full names. The caller frees
 * the result with catalogue_free.
 */
struct catalogue *catalogue_read(int tool_id, const struct samples_watch *watch,
                                 const struct variable_early *early, const char *patterns,
                                 bool has_world);
void catalogue_free(struct catalogue *catalogue);

/* ---- Lists ----------------------------------------------------------------------------------- */

struct catalogue_list {
    const struct catalogue *catalogue;
    const char *patterns; /* patterns of names, or NULL for all */
    const char *moment;   /* "init" or "finalize" */
    int tool_id, rank;
};

/* Prints a table of the variables with their values, and of the categories with their sizes. */
void catalogue_print_table(FILE *stream, const struct catalogue_list *list);

/* Prints everything in JSON with schema qmpi-mpit/1. Returns false if it cannot be written. */
bool catalogue_print_json(FILE *stream, const struct catalogue_list *list);

#endif
