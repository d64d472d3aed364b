/* SPDX-License-Identifier: MIT */
/* The interface between the generated interceptors of MPICH's variant (mpich_check.c) and their
 * tool. */
#ifndef QMPI_TEST_CROSS_ENTRY_H
#define QMPI_TEST_CROSS_ENTRY_H

#include "witness.h"

#include <mpi.h>

struct cross_entry {
    enum QMPI_Functions_enum number;
    void (*layer)(void);
};
extern const struct cross_entry cross_entry[];
extern const int cross_entry_count;

/* The data by which an interceptor calls the next one. */
struct cross_next {
    void (*function)(void);
    int tool_id;
};

/* Tells the witness that a layer's interceptor of `name` was called. Returns the next function. */
struct cross_next cross_arrive(int tool_id, enum QMPI_Functions_enum number, const char *name);

/* The interceptor of MPI_Pcontrol is written by hand, because it is variadic. */
int cross_Pcontrol(QMPI_Context context, int tool_id, const int level, ...);

/* Intercepts all functions natively. Those with a number in the variant are then registered
 * again. */
void cross_register_native(int tool_id);

#endif
