/* SPDX-License-Identifier: MIT */
/*
 * Converts handles and constants between this MPI library and the standard ABI, in both directions.
 *
 * Predefined handles of the ABI are numbers below QMPI_ABI_PREDEFINED. Tables that qmpi_abi_start
 * fills map them to the handles of this library and back. Any other handle of the ABI consists of
 * the bits of this library's handle, which are never that small, so that its conversion needs no
 * memory. The kind of an integer determines the constants that it may be. Any other value does
 * not change, unless the other side has a constant of the same value: then one bit of the value
 * changes. If constants of a kind can be combined, each of them is converted, and other bits do not
 * change.
 */
#ifndef QMPI_ABI_VALUES_H
#define QMPI_ABI_VALUES_H

#include <qmpi/traits.h>

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { QMPI_ABI_PREDEFINED = 0x400 };

/* Fills the tables, once; from any thread. Called when a tool for the ABI registers an observer or
 * a variable, or calls an MPI function that returns an error class. The MPI library must have been
 * found. */
void qmpi_abi_start(void);

/* ---- Handles --------------------------------------------------------------------------------- */

/* The handles of this library, as bits; the index is the handle of the ABI. */
extern uintptr_t qmpi_abi_natives[QMPI_ABI_PREDEFINED];

/* A slot of the hash table of predefined handles; `kind` 0: empty. */
struct qmpi_abi_handle {
    uintptr_t native;
    unsigned short abi;
    unsigned char kind;
};
enum { QMPI_ABI_HANDLE_BITS = 9 };
extern struct qmpi_abi_handle qmpi_abi_handles[1 << QMPI_ABI_HANDLE_BITS];

static inline size_t qmpi_abi_place(uintptr_t native)
{
    return (size_t)((native * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - QMPI_ABI_HANDLE_BITS));
}

/* Returns the handle of the ABI for the bits of one of this library. */
static inline uintptr_t qmpi_abi_from_handle(QMPIX_Kind kind, uintptr_t native)
{
    size_t place = qmpi_abi_place(native);
    for (; qmpi_abi_handles[place].kind; place = (place + 1) % (1 << QMPI_ABI_HANDLE_BITS)) {
        if (qmpi_abi_handles[place].native == native && qmpi_abi_handles[place].kind == kind)
            return qmpi_abi_handles[place].abi;
    }
    return native;
}

/* Returns the bits of this library's handle for a handle of the ABI. */
static inline uintptr_t qmpi_abi_to_handle(uintptr_t abi)
{
    return abi < QMPI_ABI_PREDEFINED ? qmpi_abi_natives[abi] : abi;
}

/* For each type: qmpi_abi_bits_MPI_Comm(comm), qmpi_abi_from_MPI_Comm(comm),
 * qmpi_abi_to_MPI_Comm(abi). */
#define QMPI_ABI_HANDLE_FUNCTIONS(type, KIND)                                                      \
    static inline uintptr_t qmpi_abi_bits_##type(type handle)                                      \
    {                                                                                              \
        uintptr_t bits = 0;                                                                        \
        memcpy(&bits, &handle, sizeof handle);                                                     \
        return bits;                                                                               \
    }                                                                                              \
    static inline uintptr_t qmpi_abi_from_##type(type handle)                                      \
    {                                                                                              \
        return qmpi_abi_from_handle(QMPIX_KIND_##KIND, qmpi_abi_bits_##type(handle));              \
    }                                                                                              \
    static inline type qmpi_abi_to_##type(uintptr_t abi)                                           \
    {                                                                                              \
        const uintptr_t bits = qmpi_abi_to_handle(abi);                                            \
        type handle;                                                                               \
        memcpy(&handle, &bits, sizeof handle);                                                     \
        return handle;                                                                             \
    }
QMPI_ABI_HANDLE_FUNCTIONS(MPI_Comm, COMM)
QMPI_ABI_HANDLE_FUNCTIONS(MPI_Datatype, DATATYPE)
QMPI_ABI_HANDLE_FUNCTIONS(MPI_Errhandler, ERRHANDLER)
QMPI_ABI_HANDLE_FUNCTIONS(MPI_File, FILE)
QMPI_ABI_HANDLE_FUNCTIONS(MPI_Group, GROUP)
QMPI_ABI_HANDLE_FUNCTIONS(MPI_Info, INFO)
QMPI_ABI_HANDLE_FUNCTIONS(MPI_Message, MESSAGE)
QMPI_ABI_HANDLE_FUNCTIONS(MPI_Op, OP)
QMPI_ABI_HANDLE_FUNCTIONS(MPI_Request, REQUEST)
QMPI_ABI_HANDLE_FUNCTIONS(MPI_Win, WIN)
#ifdef MPI_SESSION_NULL /* not by version: Open MPI 5 has sessions, but calls itself MPI 3.1 */
QMPI_ABI_HANDLE_FUNCTIONS(MPI_Session, SESSION)
#endif

/* Generated: calls qmpi_abi_add_handle for each predefined handle. */
void qmpi_abi_read_handles(void);
void qmpi_abi_add_handle(QMPIX_Kind kind, unsigned abi, uintptr_t native);

/* ---- Integers -------------------------------------------------------------------------------- */

struct qmpi_abi_number {
    int abi, native;
};

/* The constants of one kind; `bits`: several may be combined. */
struct qmpi_abi_numbers {
    const struct qmpi_abi_number *numbers;
    int count;
    bool bits;
};
/* The rows of addresses, and of constants that are the same in all MPI libraries, are empty. */
enum { QMPI_ABI_CONSTANT_KINDS = QMPIX_CONSTANTS_COLLECTIVE_BUFFER + 1 };
extern const struct qmpi_abi_numbers qmpi_abi_numbers[QMPI_ABI_CONSTANT_KINDS];

int qmpi_abi_from_constant(QMPIX_Constants kind, int native);
int qmpi_abi_to_constant(QMPIX_Constants kind, int abi);

/* Converts an integer, with a shortcut for the most frequent ones: those of kinds without
 * constants, and ranks and tags that are not negative. */
static inline int qmpi_abi_from_native_number(QMPIX_Constants kind, int native)
{
    return kind == QMPIX_CONSTANTS_NONE || (kind <= QMPIX_CONSTANTS_TAG && native >= 0)
               ? native
               : qmpi_abi_from_constant(kind, native);
}

static inline int qmpi_abi_to_native_number(QMPIX_Constants kind, int abi)
{
    return kind == QMPIX_CONSTANTS_NONE || (kind <= QMPIX_CONSTANTS_TAG && abi >= 0)
               ? abi
               : qmpi_abi_to_constant(kind, abi);
}

/* Returns the error class of the ABI for one of this library. An error code, which is larger than
 * any class, does not change. Statuses whose error was never set contain arbitrary values. Most of
 * these are larger, too, so that they need no search. */
static inline int qmpi_abi_from_error(int error)
{
    enum { LARGER_THAN_CLASSES = 1 << 14 };
    return error == MPI_SUCCESS || (unsigned)error >= LARGER_THAN_CLASSES
               ? error
               : qmpi_abi_from_constant(QMPIX_CONSTANTS_ERROR, error);
}

#endif
