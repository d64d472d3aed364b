/* SPDX-License-Identifier: MIT */
/* How a datatype was made: MPI 4.0, section 5.1.13, "Decoding a Datatype". */
#ifndef QMPI_OBSERVE_TYPE_CONTENTS_H
#define QMPI_OBSERVE_TYPE_CONTENTS_H

#include <mpi.h>
#include <stdbool.h>

struct qmpi_type_contents {
    int combiner;
    MPI_Count integer_count, address_count, count_count, type_count;
    int *integers;
    MPI_Aint *addresses;
    MPI_Count *counts; /* instead of the integers, if it was made by MPI_Type_…_c */
    MPI_Datatype *types;
};

/* Sets the combiner and the numbers. */
bool qmpi_type_find_envelope(MPI_Datatype type, struct qmpi_type_contents *contents);

/* Sets the rest, for a type that is not named. */
bool qmpi_type_find_contents(MPI_Datatype type, struct qmpi_type_contents *contents);

/* Frees the arrays, and the types in them that are not predefined. */
void qmpi_type_release(struct qmpi_type_contents *contents);

/* Whether the combiner is that of a type from MPI_Type_create_f90_…, which is predefined. */
bool qmpi_type_is_f90(int combiner);

#endif
