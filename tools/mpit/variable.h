/* SPDX-License-Identifier: MIT */
/* A variable of MPI_T below a layer of mpit. */
#ifndef QMPI_TOOL_MPIT_VARIABLE_H
#define QMPI_TOOL_MPIT_VARIABLE_H

#include "value.h"

struct variable {
    int index;
    char *name, *description;
    const struct value_type *type; /* NULL: one that MPI_T does not have */
    MPI_T_enum enumtype;
    char *label; /* what the enumeration calls the value; NULL: nothing */
    int verbosity, bind;
    int scope;                                   /* cvars */
    int var_class, readonly, continuous, atomic; /* pvars */
    int count;                                   /* of elements in `data` */
    void *data;                                  /* NULL: there is no value */
    const char *reason;                          /* why there is none */
    bool early;                                  /* the value is one from before MPI_Init */
};

/* One control variable without its value: what settings.c looks at. False: no such index. */
bool catalogue_read_cvar_info(int tool_id, int index, struct variable *variable);
bool catalogue_read_pvar_info(int tool_id, int index, struct variable *variable);
void catalogue_clear(struct variable *variable);

#endif
