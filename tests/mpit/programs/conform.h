/* SPDX-License-Identifier: MIT */
/*
 * The conformance test of MPI_T: what its parts share. A part is a table of cases, each named after
 * the rule that it checks. The same source is built as a program, as a native layer and as a PMPI
 * tool, which runs it in MPI_Finalize: T(x) is the MPI_T_x that such a client calls.
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

/* A case needs the layer `publisher`, or the MPI library alone is enough. */
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

/* The label of the publishing layer that is tested: "publisher", or "publisher#2". */
extern const char *conform_publisher;

void conform_fail(const char *file, int line, const char *what, long long got, long long expected);

/* Both sides are numbers. */
#define IS(got, expected)                                                                          \
    do {                                                                                           \
        const long long got_ = (long long)(got), expected_ = (long long)(expected);                \
        if (got_ != expected_)                                                                     \
            conform_fail(__FILE__, __LINE__, #got, got_, expected_);                               \
    } while (0)

#define SUCCEEDS(call) IS(call, MPI_SUCCESS)

/*
 * Asks about one of all indices. Open MPI closes components in MPI_Init and takes their variables
 * away, while their indices stay: false for such a one. All else must succeed.
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

/* The whole name of what the publisher calls NAME; valid until the fourth call after. */
const char *conform_name(const char *name);

/* Indices by NAME; of `name` itself where the publisher has none. */
int conform_cvar(const char *name);
int conform_pvar(const char *name, int var_class);
int conform_category(const char *name);

/* Writes a cvar of the publisher: one element of its datatype, or what `value` points to. */
void conform_write(const char *name, const void *value);
void conform_set_counter(unsigned long long value);

/* Runs all cases; prints `ok NAME`, `not ok NAME` or `skip NAME` for each. */
void conform_run(void);

#endif
