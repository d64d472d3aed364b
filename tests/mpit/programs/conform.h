/* SPDX-License-Identifier: MIT */
/*
 * The conformance test of MPI_T: the declarations that its parts share. A part is a table of cases;
 * the name of a case is the rule that it checks. The same source is built as a program, as a native
 * layer, and as a PMPI tool, which runs it in MPI_Finalize. T(x) is MPI_T_x as such a client calls
 * it.
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

/* Whether a case needs the layer `publisher`, or only the MPI library. */
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
 * Makes a call for one of all indices, which must succeed if the index exists. Returns false if it
 * does not: Open MPI closes components in MPI_Init and removes their variables, but keeps the
 * indices.
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

/* Returns the full name of the item that the publisher calls NAME; valid until the fourth call
 * after this one. */
const char *conform_name(const char *name);

/* Return the index of the item NAME of the publisher, or of `name` itself if the publisher has
 * none. */
int conform_cvar(const char *name);
int conform_pvar(const char *name, int var_class);
int conform_category(const char *name);

/* Writes one element, or the data at `value`, to a control variable of the publisher. */
void conform_write(const char *name, const void *value);
void conform_set_counter(unsigned long long value);

/* Runs all cases; prints `ok NAME`, `not ok NAME` or `skip NAME` for each. */
void conform_run(void);

#endif
