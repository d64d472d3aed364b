/* SPDX-License-Identifier: MIT */
/* Single values and arrays of them in words. */
#ifndef QMPI_TOOL_LOG_VALUES_H
#define QMPI_TOOL_LOG_VALUES_H

#include "format.h"
#include "layer.h"

/* A value's kind and meaning, and what there is to know of its call. */
struct value {
    struct layer *layer;
    const QMPIX_Call *call;
    const struct shape *shape;
    QMPIX_Kind kind;
    enum how how;
    size_t size;
    bool in_status;      /* statuses have errors of their own */
    int place;           /* of the argument */
    size_t program_size; /* of a value in the program, whose MPI may have other types */
};

/* The size of a value of a parameter in this tool. */
static inline size_t values_size(const QMPIX_Parameter *parameter)
{
    if (parameter->kind == QMPIX_KIND_STATUS)
        return sizeof(MPI_Status);
    return parameter->kind >= QMPIX_KIND_COMM && parameter->kind <= QMPIX_KIND_WIN
               ? sizeof(MPI_Comm)
               : parameter->size;
}

/* Converts `count` values of the program at `raw`, which may be the end of `values`. */
void values_convert(const struct value *value, const void *raw, long long count, void *values);

/* The value at `from`. */
void values_add(struct text *text, const struct value *value, const void *from);

/* "[1, 2, 3, ...]": of `count` values as many as the options say. False: they cannot be read, and
 * nothing is added. */
bool values_add_array(struct text *text, const struct value *value, const void *from,
                      long long count);

/* A string, or `count` of them (-1: until a NULL); false as above. */
bool values_add_string(struct text *text, struct layer *layer, const char *from);
bool values_add_strings(struct text *text, struct layer *layer, char *const *from, long long count);

/* An error code: the name of its class; with what MPI says of it where `explained`. */
void values_add_error(struct text *text, struct layer *layer, int code, bool explained);

/* The class of an error code, as far as MPI can be asked. */
int values_error_class(struct layer *layer, int code);

#endif
