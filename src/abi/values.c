/* SPDX-License-Identifier: MIT */
/* See values.h. */
#include "abi/values.h"

#include <pthread.h>

uintptr_t qmpi_abi_natives[QMPI_ABI_PREDEFINED];
struct qmpi_abi_handle qmpi_abi_handles[1 << QMPI_ABI_HANDLE_BITS];

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Adds a handle. If the MPI library lacks a predefined datatype or operation, mpi.h defines its
 * name as the null handle. The null handle of each kind is added first, and another number with
 * the same handle does not replace it in the hash table. */
void qmpi_abi_add_handle(QMPIX_Kind kind, unsigned abi, uintptr_t native)
{
#ifdef OPEN_MPI
    if (!native)
        return; /* the address of an object that this version of the library lacks */
#endif
    qmpi_abi_natives[abi] = native;
    if (qmpi_abi_from_handle(kind, native) != native)
        return;
    size_t place = qmpi_abi_place(native);
    while (qmpi_abi_handles[place].kind)
        place = (place + 1) % (1 << QMPI_ABI_HANDLE_BITS);
    qmpi_abi_handles[place] =
        (struct qmpi_abi_handle){native, (unsigned short)abi, (unsigned char)kind};
}

void qmpi_abi_start(void)
{
    pthread_once(&once, qmpi_abi_read_handles);
}

/* The bit to change in a value that is not a constant in one ABI, but equals a constant of the
 * other. */
enum { MOVED = 1 << 28 };

static int convert_bits(const struct qmpi_abi_numbers *known, int value, bool to_native)
{
    int bits = 0, rest = value;
    for (int i = 0; i < known->count; i++) {
        const int from = to_native ? known->numbers[i].abi : known->numbers[i].native;
        if ((value & from) == from) {
            bits |= to_native ? known->numbers[i].native : known->numbers[i].abi;
            rest &= ~from;
        }
    }
    return bits | rest;
}

static int convert_other(const struct qmpi_abi_numbers *known, int value, bool to_native)
{
    for (int i = 0; i < known->count; i++) {
        const int from = to_native ? known->numbers[i].abi : known->numbers[i].native;
        const int to = to_native ? known->numbers[i].native : known->numbers[i].abi;
        if (value == to || (value ^ MOVED) == from)
            return value ^ MOVED;
    }
    return value;
}

static inline int convert_constant(QMPIX_Constants kind, int value, bool to_native)
{
    const struct qmpi_abi_numbers *known = &qmpi_abi_numbers[kind];
    if (known->bits)
        return convert_bits(known, value, to_native);
    for (int i = 0; i < known->count; i++) {
        if (value == (to_native ? known->numbers[i].abi : known->numbers[i].native))
            return to_native ? known->numbers[i].native : known->numbers[i].abi;
    }
    return convert_other(known, value, to_native);
}

int qmpi_abi_from_constant(QMPIX_Constants kind, int native)
{
    return convert_constant(kind, native, false);
}

int qmpi_abi_to_constant(QMPIX_Constants kind, int abi)
{
    return convert_constant(kind, abi, true);
}
