/* SPDX-License-Identifier: MIT */
/* Variables of MPI_T: their descriptions, their values, the constants of MPI_T as text, and the
 * variables of the MPI library that cannot be read. */
#ifndef QMPI_TOOL_MPIT_VARIABLE_H
#define QMPI_TOOL_MPIT_VARIABLE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum variable_kind { VALUE_SIGNED, VALUE_UNSIGNED, VALUE_DOUBLE, VALUE_TEXT };

struct variable_type {
    MPI_Datatype datatype;
    const char *name; /* "MPI_INT" */
    enum variable_kind kind;
    size_t size; /* bytes of an element */
};

/* A variable below a layer of mpit. */
struct variable {
    int index;
    char *name, *description;
    const struct variable_type *type; /* NULL if the datatype is not one of MPI_T's */
    MPI_T_enum enumtype;
    char *label; /* the name of the value in the enumeration, or NULL */
    int verbosity, bind;
    int scope;                                   /* cvars */
    int var_class, readonly, continuous, atomic; /* pvars */
    int count;                                   /* of elements in `data` */
    void *data;                                  /* NULL if there is no value */
    const char *reason;                          /* why there is no value */
    bool early;                                  /* the value was read before MPI_Init */
};

/* These functions read the description of a variable, without its value. They return false if there
 * is no such index. */
bool variable_read_cvar_info(int tool_id, int index, struct variable *variable);
bool variable_read_pvar_info(int tool_id, int index, struct variable *variable);
void variable_clear(struct variable *variable);

/* ---- Values ---------------------------------------------------------------------------------- */

/* Returns the type of a datatype, or NULL if no variable of MPI_T can have this datatype. */
const struct variable_type *variable_type_of(MPI_Datatype datatype);

/* Allocates zeroed memory for the elements and one more, because some libraries terminate strings
 * behind the last element. The caller frees it. */
void *variable_make_room(const struct variable_type *type, int count);

/* These functions return element `i` of an array. The caller must choose the function that matches
 * the kind of the type. */
long long variable_signed(const struct variable_type *type, const void *array, int i);
unsigned long long variable_unsigned(const struct variable_type *type, const void *array, int i);
double variable_double(const void *array, int i);

/* Writes element `i`: a number as variable_parse_element reads it, or a character of a string. Both
 * functions must be called between qmpi_value_begin_numbers and qmpi_value_end_numbers. */
void variable_print_element(FILE *stream, const struct variable_type *type, const void *array,
                            int i);

/* Writes all `count` elements, separated by blanks, or a string up to its end. */
void variable_print(FILE *stream, const struct variable_type *type, const void *array, int count);

/* Reads a number into element `i`. Returns false if the text, of `length` bytes, is not a number
 * that fits the type. */
bool variable_parse_element(const struct variable_type *type, const char *text, size_t length,
                            void *array, int i);

/* ---- Constants ------------------------------------------------------------------------------- */

/* These functions return the names of the standard in lower case without their prefix, or "?" if
 * the standard has no such constant. */
const char *variable_verbosity_name(int verbosity); /* "user_basic" */
const char *variable_class_name(int var_class);     /* "counter" */
const char *variable_scope_name(int scope);         /* "all_eq" */
const char *variable_binding_name(int binding);     /* "comm"; "none" */

/* ---- Variables that cannot be read ----------------------------------------------------------- */

/*
 * Variables of the MPI library that exist but cannot be read.
 *
 * MPI_Init of Open MPI closes components that it does not use, and their variables disappear. Of
 * some variables, only the memory disappears: MPI_T still describes them, but reading such a
 * control variable, or allocating a handle of such a performance variable, crashes (Open MPI 4.1.4:
 * opal_common_ucx_verbose, mtl_psm2_tx_num). Nothing in MPI_T distinguishes them from other
 * variables. Therefore, if variables of the library have disappeared, its control variables have
 * the values from before MPI_Init, and its performance variables are read only if the user has
 * named them.
 */

struct variable_early_value {
    void *data; /* NULL if it was not or could not be read */
    int count;
};

/* The values of the library's control variables from before MPI_Init, by index. */
struct variable_early {
    struct variable_early_value *values; /* NULL after variable_early_clear */
    int count;
    bool lost; /* variables have disappeared */
};

/* Reads the control variables whose names match `patterns`. Called when MPI_T, but not MPI, is
 * initialized. */
void variable_early_read(struct variable_early *early, const char *patterns);
/* Frees the values, but keeps `lost`. */
void variable_early_clear(struct variable_early *early);

/* Checks whether variables of the library have disappeared since variable_early_read. Returns the
 * result and stores it in `lost`, which the following functions use. */
bool variable_early_has_lost(struct variable_early *early);

/* Returns whether variables of the library have disappeared and this variable belongs to the
 * library. If so, sets `*value` to the value from before MPI_Init, whose `data` is NULL if the
 * value is not known. */
bool variable_early_find(const struct variable_early *early, const char *name,
                         struct variable_early_value *value);

/* Returns whether a performance variable may be read. `globs` are the patterns of the user. */
bool variable_early_allows(const struct variable_early *early, const char *name, int var_class,
                           const char *globs);

#endif
