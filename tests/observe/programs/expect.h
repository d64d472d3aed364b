/* SPDX-License-Identifier: MIT */
/*
 * What a program knows of its own calls, written beside it: one line for each call into
 * FOLDER/expected.RANK. These programs are the truth that observers are held against, so nothing
 * here comes from libqmpi: the figures stand in the program's text.
 *
 * A line is the function and fields NAME=VALUE; observe_support.py holds it against what the test
 * tool `witness` saw and says what a field left out means (no bytes, no transfer, no root, …).
 * `@` is the communicator that expect_on() named last, `@world` and `@self` are those. A transfer
 * is
 * `>peer/world/tag/bytes` where it is sent, `<…` where it is received. `*` matches anything.
 *
 * `came` is what a receive that the call posts gets in the end, where that is not `received`.
 *
 * All calls that the witness is to see are made with DO; setting up is done by PMPI calls.
 */
#ifndef TEST_EXPECT_H
#define TEST_EXPECT_H

#include "exists.h"

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <stddef.h>

/* argv[1] is the folder. To be called first. */
void expect_begin(int argc, char **argv);
/* Ends the program with a message unless `good`. */
void expect_true(int good, const char *what);
#define EXPECT_TRUE(condition) expect_true((condition) != 0, #condition)

/* The communicator for `@`, in this thread. */
void expect_on(MPI_Comm comm);
/* Writes a line; ends the program if the call failed. */
void expect_call(const char *function, int error, const char *fields);
/* Of a call that must fail. */
void expect_failure(const char *function, int error, const char *fields);

/* Formatted text that lives until this thread has made 255 more. */
#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
const char *
says(const char *format, ...);
/* `fields`, and what is to be seen of a request, if it is not null. */
const char *expect_request(const char *seen, const char *fields, MPI_Request request);
/* The bytes of a handle. */
const char *expect_hex(const void *object, size_t size);
#define COMM(value) expect_hex(&(MPI_Comm){value}, sizeof(MPI_Comm))
#define REQUEST(value) expect_hex(&(MPI_Request){value}, sizeof(MPI_Request))
#define DATATYPE(value) expect_hex(&(MPI_Datatype){value}, sizeof(MPI_Datatype))

/* One call, and what is to be seen of it; `fields` is evaluated after the call. An MPI without
 * large counts has the function with small ones in place of MPI_X_c, one that is older than MPI_X
 * may have MPIX_X; where there is neither, nothing. */
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

/* Statements for an MPI that has something for DO(X, …). */
#define WHERE_EXISTS(X, ...) WHERE_AS(EXISTS_SECOND(EXISTS_##X, 0, none, ~), __VA_ARGS__)
#define WHERE_AS(exists, ...) WHERE_AS_IT(exists, __VA_ARGS__)
#define WHERE_AS_IT(exists, ...) WHERE_##exists(__VA_ARGS__)
#define WHERE_0(...) ((void)0)
#define WHERE_MPI(...) __VA_ARGS__
#define WHERE_MPIX(...) __VA_ARGS__

/* A call that gives a request, which may be null, and the wait for it. */
#define DO_AND_WAIT(X, ARGUMENTS, request, fields)                                                 \
    do {                                                                                           \
        request = MPI_REQUEST_NULL;                                                                \
        (void)request;                                                                             \
        WHERE_EXISTS(X, DO(X, ARGUMENTS, expect_request("started", fields, request));              \
                     const MPI_Request old_request = request;                                      \
                     DO(Wait, (&(request), MPI_STATUS_IGNORE),                                     \
                        expect_request("completed", "", old_request)));                            \
    } while (0)

/* MPI_Init, and the others' beginning and end. */
void expect_init(int argc, char **argv, int *rank, int *size);
void expect_finalize(void);

#endif
