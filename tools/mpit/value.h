/* SPDX-License-Identifier: MIT */
/* The values of variables: the datatypes that MPI_T has, as text and from text. */
#ifndef QMPI_TOOL_MPIT_VALUE_H
#define QMPI_TOOL_MPIT_VALUE_H

#include <mpi.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum value_kind { VALUE_SIGNED, VALUE_UNSIGNED, VALUE_DOUBLE, VALUE_TEXT };

struct value_type {
    MPI_Datatype datatype;
    const char *name; /* "MPI_INT" */
    enum value_kind kind;
    size_t size; /* bytes of an element */
};

/* NULL: MPI_T has no variables of this datatype. */
const struct value_type *value_type_of(MPI_Datatype datatype);

/* Room for the elements, zeroed, and a little more: some libraries end strings behind it. */
void *value_room(const struct value_type *type, int count);

/* Element `i` of an array; of the kind that its type has. */
long long value_signed(const struct value_type *type, const void *array, int i);
unsigned long long value_unsigned(const struct value_type *type, const void *array, int i);
double value_double(const void *array, int i);

/* Writes element `i` as text that value_parse reads: both between tool_numbers_begin and _end. */
void value_print_element(FILE *stream, const struct value_type *type, const void *array, int i);

/* Writes all `count` elements, with blanks between them; of a string what comes before its end. */
void value_print(FILE *stream, const struct value_type *type, const void *array, int count);

/* Reads a number that fits the type into element `i`; false: the text, up to `length`, is none. */
bool value_parse(const struct value_type *type, const char *text, size_t length, void *array,
                 int i);

#endif
