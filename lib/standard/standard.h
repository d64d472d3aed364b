/* SPDX-License-Identifier: MIT */
/*
 * These tables describe the functions, handles and constants of the MPI standard, and do not depend
 * on the MPI library of the build. The first one contains the meaning of functions by name, for
 * code that reads results of a run in a process without libqmpi. The others contain the names of
 * predefined handles and constants by their values in the standard ABI. The tables are generated
 * from src/generate/semantics.py and the mpi.h of the ABI. All functions may be called by any
 * thread and in signal handlers.
 */
#ifndef QMPI_STANDARD_STANDARD_H
#define QMPI_STANDARD_STANDARD_H

#include <qmpi/traits.h>

#include <stdbool.h>
#include <stdint.h>

/* ---- Functions ------------------------------------------------------------------------------- */

/*
 * Stores the traits of the function with this name. All argument numbers are -1, because they
 * depend on the MPI library, and QMPIX_TRAIT_ERROR is never set. If the name is NULL or not known,
 * returns false and stores the traits of a function that does nothing.
 */
bool standard_find_traits(const char *name, QMPIX_Traits *traits);

/* ---- Handles and constants ------------------------------------------------------------------- */

/* Returns the name of a predefined handle by its value in the ABI, or NULL if the handle is not
 * predefined. The name is static. */
const char *standard_find_handle(QMPIX_Kind kind, uintptr_t handle);

/* Returns whether a handle is the null handle of its kind, such as MPI_COMM_NULL. */
bool standard_is_null(QMPIX_Kind kind, uintptr_t handle);

/* Returns the name of a constant by its value in the ABI, or NULL if no constant of this kind has
 * the value. The name is static. */
const char *standard_find_constant(QMPIX_Constants kind, long long value);

/* Returns whether constants of this kind may be combined with `|`. */
bool standard_is_bits(QMPIX_Constants kind);

/* Stores in `bit` one of the bits of `value` that have a name, and returns the name. Returns NULL,
 * and stores nothing, if no bit of `value` has one. standard_is_bits must be true for `kind`. */
const char *standard_find_bit(QMPIX_Constants kind, long long value, long long *bit);

/* ---- The generated tables -------------------------------------------------------------------- */

/* A name is given by its offset in one long string, so that a library that contains a table needs
 * no relocations for it. */
struct standard_function {
    unsigned short name;
    unsigned short flags;
    unsigned short group;
    unsigned char role, collective, flow, access;
};
extern const char standard_function_names[] __attribute__((visibility("hidden")));
extern const struct standard_function standard_functions[] /* sorted by name */
    __attribute__((visibility("hidden")));
extern const int standard_function_count __attribute__((visibility("hidden")));

struct standard_constant {
    int value;
    unsigned short name;
};
struct standard_range {
    unsigned short first, count;
};
enum {
    STANDARD_HANDLE_KINDS = QMPIX_KIND_T_PVAR_SESSION + 1,
    STANDARD_NUMBER_KINDS = QMPIX_CONSTANTS_UNDEFINED + 1
};
extern const char standard_constant_names[] __attribute__((visibility("hidden")));
extern const struct standard_constant standard_constants[] __attribute__((visibility("hidden")));
extern const struct standard_range standard_handles[STANDARD_HANDLE_KINDS]
    __attribute__((visibility("hidden")));
extern const struct standard_range standard_numbers[STANDARD_NUMBER_KINDS]
    __attribute__((visibility("hidden")));
extern const bool standard_are_bits[STANDARD_NUMBER_KINDS] __attribute__((visibility("hidden")));

#endif
