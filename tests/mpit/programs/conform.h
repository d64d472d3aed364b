/* SPDX-License-Identifier: MIT */
/*
 * The declarations that the parts of the conformance test of MPI_T share. A part is a table of
 * cases, which ends with a case without a name; the name of a case is the rule that it checks. The
 * same source is built as three clients: a program, a native layer, and a PMPI tool. The layer and
 * the tool run the cases in MPI_Finalize. T(x) is the function by which the client calls MPI_T_x.
 */
#ifndef CONFORM_H
#define CONFORM_H

#include "library_names.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#if defined(CLIENT_PMPI)
#define T(x) PMPI_T_##x
#else
#define T(x) MPI_T_##x
#endif

/* What a case needs: only the MPI library, or also the layer `publisher`. */
enum need { LIBRARY, PUBLISHER };

struct conform_case {
    const char *name;
    void (*run)(void);
    enum need need;
};

#define CASE(name, need)                                                                           \
    {                                                                                              \
#name, name, need                                                                          \
    }

extern const struct conform_case conform_cvars[], conform_pvars[], conform_sessions[],
    conform_categories[], conform_general[];

/* The label of the publishing layer under test: "publisher" or "publisher#2". */
extern const char *conform_publisher;

/* Prints that the value `got` of the expression `what` is not the expected one, and makes the
 * present case fail. */
void conform_fail(const char *file, int line, const char *what, long long got, long long expected);

/* Compares two numbers. */
#define IS(got, expected)                                                                          \
    do {                                                                                           \
        const long long got_ = (long long)(got), expected_ = (long long)(expected);                \
        if (got_ != expected_)                                                                     \
            conform_fail(__FILE__, __LINE__, #got, got_, expected_);                               \
    } while (0)

#define SUCCEEDS(call) IS(call, MPI_SUCCESS)

/*
 * Makes a call for the item at an index. Returns false if Open MPI has removed the item: it closes
 * components in MPI_Init and removes their variables, but keeps the indices. In all other cases,
 * the call must succeed.
 */
#define EXISTS(call)                                                                               \
    __extension__({                                                                                \
        const int result_ = (call);                                                                \
        const bool gone_ =                                                                         \
            is_open_mpi() && (result_ == MPI_T_ERR_INVALID_INDEX || result_ == MPI_T_ERR_INVALID); \
        if (!gone_)                                                                                \
            IS(result_, MPI_SUCCESS);                                                              \
        !gone_;                                                                                    \
    })

/* Returns the full name of the item that the publisher calls NAME. The string is valid until the
 * fourth call after this one. */
const char *conform_name(const char *name);

/* These functions return the index of the item that the publisher calls NAME. If there is none,
 * they return the index of the item whose full name is NAME. If there is none either, the case
 * fails. */
int conform_cvar(const char *name);
int conform_pvar(const char *name, int var_class);
int conform_category(const char *name);

/* Writes the data at `value` to the control variable that the publisher calls NAME. */
void conform_write(const char *name, const void *value);

/* Sets the publisher's counter, from which the values of several performance variables come. */
void conform_set_counter(unsigned long long value);

/* Runs all cases; prints `ok NAME`, `not ok NAME` or `skip NAME` for each. */
void conform_run(void);

#endif
