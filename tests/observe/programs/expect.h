/* SPDX-License-Identifier: MIT */
/*
 * Writes down what a program knows about its own calls: one line for each call in
 * FOLDER/expected.RANK. Observers are compared with these lines, so nothing here comes from
 * libqmpi; the values are constants in the text of the program.
 *
 * A line is the function and fields NAME=VALUE; observe_support.py compares it with what the test
 * tool `witness` saw and defines the values of missing fields (no bytes, no transfer, no root, …).
 * `@` is the communicator of the last expect_on(), and `@world` and `@self` are the predefined
 * ones. A transfer is `>peer/world/tag/bytes` if it is sent, `<…` if it is received. `*` matches
 * anything.
 *
 * `came` is the data that a receive posted by the call gets in the end, if it differs from
 * `received`.
 *
 * All calls that the witness must observe are made with DO; other calls are made as PMPI calls.
 */
#ifndef TEST_EXPECT_H
#define TEST_EXPECT_H

#include "exists.h"

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <stddef.h>

/* argv[1] is the folder. This must be called first. */
void expect_begin(int argc, char **argv);
/* Ends the program with a message unless `good`. */
void expect_true(int good, const char *what);
#define EXPECT_TRUE(condition) expect_true((condition) != 0, #condition)

/* Sets the communicator for `@` in this thread. */
void expect_on(MPI_Comm comm);
/* Writes a line, or ends the program if the call has failed. */
void expect_call(const char *function, int error, const char *fields);
/* Does the same for a call that must fail. */
void expect_failure(const char *function, int error, const char *fields);

/* Returns formatted text that is valid until this thread has made 255 more calls. */
#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
const char *
says(const char *format, ...);
/* Returns `fields`, followed by the field `seen` for a request unless it is null. */
const char *expect_request(const char *seen, const char *fields, MPI_Request request);
/* Returns the bytes of a handle. */
const char *expect_hex(const void *object, size_t size);
#define COMM(value) expect_hex(&(MPI_Comm){value}, sizeof(MPI_Comm))
#define REQUEST(value) expect_hex(&(MPI_Request){value}, sizeof(MPI_Request))
#define DATATYPE(value) expect_hex(&(MPI_Datatype){value}, sizeof(MPI_Datatype))

/* Makes one call and writes what must be observed; `fields` is evaluated after the call. In an MPI
 * without large counts, MPI_X_c is replaced by the function with small counts; in one that is older
 * than MPI_X, by MPIX_X if there is one. If there is neither, nothing is done. */
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

/* Statements for an MPI that has a function for DO(X, …). */
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

/* Call MPI_Init, and begin and end the other parts. */
void expect_init(int argc, char **argv, int *rank, int *size);
void expect_finalize(void);

#endif
