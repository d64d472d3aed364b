/* SPDX-License-Identifier: MIT */
/* The interface between the generated calls and interceptors (check.c) and the program that runs
 * them. */
#ifndef QMPI_TEST_EVERY_ENTRY_H
#define QMPI_TEST_EVERY_ENTRY_H

#include "witness.h"

#include <qmpi/qmpi.h>

#include <stdbool.h>

struct every_entry {
    const char *name;
    enum QMPI_Functions_enum number;
    void (*call)(bool pmpi); /* calls MPI_X, or PMPI_X if `pmpi` */
    void (*layer)(void);     /* the interceptor */
};
extern const struct every_entry every_entry[];
extern const int every_entry_count;

/* Tells the witness that a layer's interceptor of `number` was called. Returns the tool_id. */
int arrive(QMPI_Context context, enum QMPI_Functions_enum number);

/* The call and the interceptor of MPI_Pcontrol are written by hand, because it is variadic. */
void call_Pcontrol(bool pmpi);
int layer_Pcontrol(QMPI_Context context, const int level, ...);

/* Returns the number of layers in this run. */
int layer_count(void);

/* Writes one TAP line. */
void report(bool good, const char *name);

/* Checks MPI_Pcontrol with the lists of arguments in pcontrol_words.h that call_Pcontrol does not
 * use. */
void check_pcontrol_forms(void);

#endif
