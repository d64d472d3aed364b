/* SPDX-License-Identifier: MIT */
/* This part prints single values and arrays of values. */
#ifndef QMPI_TOOL_LOG_VALUES_H
#define QMPI_TOOL_LOG_VALUES_H

#include "tools/log/layer.h"
#include "tools/log/shape.h"

/* The kind and meaning of a value, and the call that it belongs to. */
struct value {
    struct layer *layer;
    const QMPIX_Call *call;
    const struct shape *shape;
    QMPIX_Kind kind;
    QMPIX_Constants constants;
    size_t size;         /* size of the value in this tool */
    bool in_status;      /* the call returned MPI_ERR_IN_STATUS, so each status has its own error */
    int place;           /* index of the argument; -1: the result of the call */
    size_t program_size; /* size of the value in the program, whose MPI may have other types */
};

/* Returns the integer of `size` bytes at `from`. */
long long values_integer(const void *from, size_t size);

/* Converts the `count` values of the program at `raw` to the types of this tool. `raw` may be the
 * last part of the memory at `values`, so that values are converted in place. */
void values_convert(const struct value *value, const void *raw, long long count, void *values);

/* Appends the value at `from`, which has the type of this tool. */
void values_add(struct text *text, const struct value *value, const void *from);

/* Appends the `count` values of the program at `from`, such as "[1, 2, 3, ...]", but at most as
 * many as the options allow. Returns false and appends nothing if the values cannot be read. */
bool values_add_array(struct text *text, const struct value *value, const void *from,
                      long long count);

/* These functions append a string, or `count` strings. If `count` is -1, the array ends with NULL.
 * They return false and append nothing if the string or the array cannot be read. An unreadable
 * string of a readable array is shown as its address. */
bool values_add_string(struct text *text, struct layer *layer, const char *from);
bool values_add_strings(struct text *text, struct layer *layer, char *const *from, long long count);

/* Appends the name of the class of an error code, or the code if the class has no name. If
 * `explained` is true, MPI's description of the error follows. */
void values_add_error(struct text *text, struct layer *layer, int code, bool explained);

/* Appends the name of an error class, or its number if it has none. */
void values_add_class(struct text *text, int class);

/* Returns whether a handle is MPI_COMM_NULL, MPI_REQUEST_NULL or another null handle. */
bool values_is_null(QMPIX_Kind kind, const void *from, size_t size);

/* Returns the name of a special address that is passed in place of an array, a buffer, a status or
 * a callback, or NULL if the address has no name. `is_array` is true if the parameter is an array,
 * even if it is declared as a pointer. */
const char *values_address_name(QMPIX_Constants constants, const QMPIX_Parameter *parameter,
                                bool is_array, const void *address);

/* Returns the class of an error code, or the code itself if MPI cannot be asked. */
int values_error_class(struct layer *layer, int code);

#endif
