/* SPDX-License-Identifier: MIT */
/*
 * Watches one call of an MPI function on its way through the layers to the MPI library and back.
 * The call passes through places: the application, the layers, and the MPI library. A layer has its
 * tool_id as its number, and the MPI library has 0. Each argument has distinctive bytes, and so has
 * the result that each place returns. Each error is written as a TAP comment that names the
 * function, the place and, if an argument is wrong, this argument.
 */
#ifndef QMPI_TEST_WITNESS_H
#define QMPI_TEST_WITNESS_H

#include <stddef.h>

#define WITNESS_API __attribute__((visibility("default")))

enum { WITNESS_APPLICATION = -1 };

/*
 * Begins a call of `function` (a constant string), which must reach `layers` layers and then, if
 * `library` is 1, the MPI library. If `library` is 0, libqmpi answers the call itself; the calls
 * that it makes to the MPI library meanwhile are ignored.
 */
WITNESS_API void witness_begin(const char *function, int layers, int library);

/* Until the next witness_begin, ignores calls of `function` that reach the MPI library. */
WITNESS_API void witness_ignore(const char *function);

/* Sets an argument to the bytes that every place must find in it; positions count from 1. */
WITNESS_API void witness_fill(void *value, size_t size, int position);

/* Records that the call has reached a place, under the name `function`. */
WITNESS_API void witness_arrive(int place, const char *function);

/* Checks an argument as the latest place received it. */
WITNESS_API void witness_argument(int position, const char *name, const void *value, size_t size);

/* Sets the result that `place` returns. */
WITNESS_API void witness_answer(int place, void *result, size_t size);

/* Checks the result that `place` got from the place below it. A result that libqmpi itself returned
 * is not checked. */
WITNESS_API void witness_result(int place, const void *result, size_t size);

/* Reports any other error at the latest place. */
WITNESS_API void witness_wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the call. Returns the number of errors in it. */
WITNESS_API int witness_end(void);

#endif
