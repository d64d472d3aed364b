/* SPDX-License-Identifier: MIT */
/*
 * Writes down what a program knows about its own calls: one line for each call in
 * FOLDER/expected.RANK. The lines do not depend on libqmpi: their values are constants in the
 * source of the program, its addresses and handles, or results of PMPI calls.
 *
 * A line is the function, followed by fields NAME=VALUE. observe_support.py compares it with the
 * line of the test tool `witness`, and defines the values of missing fields (no bytes, no transfer,
 * no root, …). `@` stands for the communicator of the last expect_on(), and `@world` and `@self`
 * for the predefined ones. A transfer is `>peer/world/tag/bytes` if it is sent, and `<…` if it is
 * received; `world` is the rank of the peer in MPI_COMM_WORLD. `-` is an unknown or missing value,
 * and `*` matches anything.
 *
 * `came` is the number of bytes that a nonblocking receive finally gets, if it differs from
 * `received`. It is not compared, because the witness does not observe it.
 *
 * All calls that the witness must observe are made with DO, or recorded with expect_call
 * or expect_failure; other calls are made as PMPI calls.
 */
#ifndef TEST_EXPECT_H
#define TEST_EXPECT_H

#include "exists.h"

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <stddef.h>

/* Opens the file in the folder argv[1]. Must be called first. */
void expect_begin(int argc, char **argv);
/* Ends the program with a message if `good` is 0. */
void expect_true(int good, const char *what);
#define EXPECT_TRUE(condition) expect_true((condition) != 0, #condition)

/* Sets the communicator for `@` in this thread. */
void expect_on(MPI_Comm comm);
/* Writes a line, or ends the program if the call has failed. */
void expect_call(const char *function, int error, const char *fields);
/* Writes a line, or ends the program if the call has not failed. */
void expect_failure(const char *function, int error, const char *fields);

/* Returns formatted text that stays valid during the next 255 calls of says() in this thread. The
 * functions below that return text may also call says(). */
#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
const char *
says(const char *format, ...);
/* Returns `fields`, followed by a field of the name `seen` for the request, unless the request is
 * null. */
const char *expect_request(const char *seen, const char *fields, MPI_Request request);
/* Returns the bytes of an object (a handle, for example) as a hexadecimal number. */
const char *expect_hex(const void *object, size_t size);
#define COMM(value) expect_hex(&(MPI_Comm){value}, sizeof(MPI_Comm))
#define REQUEST(value) expect_hex(&(MPI_Request){value}, sizeof(MPI_Request))
#define DATATYPE(value) expect_hex(&(MPI_Datatype){value}, sizeof(MPI_Datatype))

/* Makes one call and writes what must be observed; `fields` is evaluated after the call. If this
 * MPI lacks MPI_X, calls MPIX_X; if it lacks MPI_X_c, calls the function with small counts. If
 * there is no such function either, does nothing. */
#define DO(X, ARGUMENTS, fields)                                                                   \
    DO_AS(EXISTS_SECOND(EXISTS_##X, 0, none, ~), EXISTS_THIRD(EXISTS_##X, 0, none, ~), ARGUMENTS,  \
          fields)
#define DO_AS(exists, X, ARGUMENTS, fields) DO_AS_IT(exists, X, ARGUMENTS, fields)
#define DO_AS_IT(exists, X, ARGUMENTS, fields) DO_WHERE_##exists(X, ARGUMENTS, fields)
#define EXISTS_SECOND(...) EXISTS_SECOND_OF(__VA_ARGS__)
#define EXISTS_THIRD(...) EXISTS_THIRD_OF(__VA_ARGS__)
#define EXISTS_SECOND_OF(first, second, ...) second
#define EXISTS_THIRD_OF(first, second, third, ...) third
#define DO_WHERE_0(X, ARGUMENTS, fields) ((void)0)
#define DO_WHERE_MPI(X, ARGUMENTS, fields) DO_IT(MPI_##X, ARGUMENTS, fields)
#define DO_WHERE_MPIX(X, ARGUMENTS, fields) DO_IT(MPIX_##X, ARGUMENTS, fields)
#define DO_IT(function, ARGUMENTS, fields)                                                         \
    do {                                                                                           \
        const int error_of_call = function ARGUMENTS;                                              \
        expect_call(#function, error_of_call, fields);                                             \
    } while (0)

/* The statements are carried out only if this MPI has a function for DO(X, …). */
#define WHERE_EXISTS(X, ...) WHERE_AS(EXISTS_SECOND(EXISTS_##X, 0, none, ~), __VA_ARGS__)
#define WHERE_AS(exists, ...) WHERE_AS_IT(exists, __VA_ARGS__)
#define WHERE_AS_IT(exists, ...) WHERE_##exists(__VA_ARGS__)
#define WHERE_0(...) ((void)0)
#define WHERE_MPI(...) __VA_ARGS__
#define WHERE_MPIX(...) __VA_ARGS__

/* Makes a call that returns a request, which may be null, and waits for it. */
#define DO_AND_WAIT(X, ARGUMENTS, request, fields)                                                 \
    do {                                                                                           \
        request = MPI_REQUEST_NULL;                                                                \
        (void)request;                                                                             \
        WHERE_EXISTS(X, DO(X, ARGUMENTS, expect_request("started", fields, request));              \
                     const MPI_Request old_request = request;                                      \
                     DO(Wait, (&(request), MPI_STATUS_IGNORE),                                     \
                        expect_request("completed", "", old_request)));                            \
    } while (0)

/* expect_init calls expect_begin and MPI_Init, makes errors on MPI_COMM_WORLD return, sets `rank`
 * and `size`, and makes MPI_COMM_WORLD the communicator for `@`. expect_finalize calls
 * MPI_Finalize. */
void expect_init(int argc, char **argv, int *rank, int *size);
void expect_finalize(void);

#endif
