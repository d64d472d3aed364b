/* SPDX-License-Identifier: MIT */
/*
 * All variables and categories that there are below a layer of mpit, with their values, as they
 * were at one moment.
 */
#ifndef QMPI_TOOL_MPIT_CATALOGUE_H
#define QMPI_TOOL_MPIT_CATALOGUE_H

#include "pvar_session.h"
#include "unready.h"
#include "variable.h"

/* Indices into the catalogue's arrays, which are those of MPI_T. */
struct members {
    int *indices;
    int count;
};

struct category {
    char *name, *description;
    struct members cvars, pvars, categories;
};

struct catalogue {
    struct variable *cvars, *pvars;
    struct category *categories;
    int cvar_count, pvar_count, category_count;
    bool early; /* some variables' values are from before MPI_Init */
};

/*
 * Reads it all. Values of variables that must be started are those of `watch`, if they are in it,
 * for they count from there on. Variables bound to communicators are read for MPI_COMM_WORLD if
 * `has_world`. MPI_T is initialized. `early` says what of the
 * library is not to be asked; `show` is what the user asked for.
 */
struct catalogue *catalogue_read(int tool_id, const struct watch *watch, const struct early *early,
                                 const char *patterns, bool has_world);
void catalogue_free(struct catalogue *catalogue);

#endif
