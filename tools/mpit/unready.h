/* SPDX-License-Identifier: MIT */
/*
 * Variables of the MPI library that cannot be asked for a value although they are there.
 *
 * MPI_Init of Open MPI closes components that it does not use, and their variables go. Of some only
 * the memory goes: MPI_T still tells all about them, but reading the control variable or making a
 * handle of the performance variable ends the process (Open MPI 4.1.4: opal_common_ucx_verbose,
 * mtl_psm2_tx_num), and nothing in MPI_T tells them from the others. So a library of which
 * variables have gone is not asked: of control variables those values are told that they had before
 * MPI was initialized, performance variables are read where the user has named them.
 */
#ifndef QMPI_TOOL_MPIT_UNREADY_H
#define QMPI_TOOL_MPIT_UNREADY_H

#include "value.h"

struct early_value {
    void *data; /* NULL: it could not be read */
    int count;
};

/* By the library's own indices. */
struct early {
    struct early_value *values; /* NULL: no more */
    int count;
    bool lost; /* variables have gone */
};

/* Reads control variables whose names `show` chooses. MPI_T is initialized, MPI not yet. */
void early_read(struct early *early, const char *patterns);
/* The values go; whether variables have gone is still known. */
void early_clear(struct early *early);

/* Whether variables of the library have gone since: looks again. */
bool early_has_lost(struct early *early);

/* Whether it is a variable of a library that has lost some; then `*value` is what it was, with data
 * NULL if that is not known. */
bool early_find(const struct early *early, const char *name, struct early_value *value);

/* Whether a performance variable may be read: `globs` is what the user asked for. */
bool early_allows(const struct early *early, const char *name, int var_class, const char *globs);

#endif
