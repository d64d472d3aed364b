/* SPDX-License-Identifier: MIT */
/*
 * Tables of the datatypes, classes and bindings of variables in the MPI standard; and arithmetic on
 * single elements, which are stored in 64-bit words. Nothing here locks or allocates, so it may be
 * used in signal handlers.
 */
#ifndef QMPI_MPIT_TYPES_H
#define QMPI_MPIT_TYPES_H

#include <qmpi/mpit.h>

#include <stdbool.h>
#include <stdint.h>

enum qmpi_mpit_element {
    QMPI_MPIT_CHAR,
    QMPI_MPIT_INT32,
    QMPI_MPIT_UINT32,
    QMPI_MPIT_INT64,
    QMPI_MPIT_UINT64,
    QMPI_MPIT_DOUBLE
};

struct qmpi_mpit_type {
    MPI_Datatype datatype;
    enum qmpi_mpit_element element;
    unsigned size;  /* bytes */
    unsigned group; /* of datatypes, see types.c */
};

/* The way in which handles of a class get their values. */
enum qmpi_mpit_style {
    QMPI_MPIT_PRESENT, /* the publisher's current value */
    QMPI_MPIT_SUM,     /* what the publisher has added while the handle was started */
    QMPI_MPIT_HIGH,
    QMPI_MPIT_LOW
};

/* Returns NULL if variables cannot have this datatype. */
const struct qmpi_mpit_type *qmpi_mpit_type_of(MPI_Datatype datatype);

/* Whether `var_class` is a class that allows the datatype; if so, sets its style. */
bool qmpi_mpit_class_allows(int var_class, const struct qmpi_mpit_type *type,
                            enum qmpi_mpit_style *style);
bool qmpi_mpit_is_class(int var_class);

bool qmpi_mpit_is_verbosity(int verbosity);
bool qmpi_mpit_is_scope(int scope);

/* Returns the size of the handle of the object to which a variable is bound; 0: no object; -1:
 * there is no such binding, or this MPI lacks it. */
int qmpi_mpit_object_size(int bind);

/* Loads element `i` of an array, atomically. */
static inline uint64_t qmpi_mpit_load(const struct qmpi_mpit_type *type, const void *array, int i)
{
    switch (type->element) {
    case QMPI_MPIT_CHAR:
        return __atomic_load_n((const unsigned char *)array + i, __ATOMIC_RELAXED);
    case QMPI_MPIT_INT32:
        return (uint64_t)__atomic_load_n((const int32_t *)array + i, __ATOMIC_RELAXED);
    case QMPI_MPIT_UINT32:
        return __atomic_load_n((const uint32_t *)array + i, __ATOMIC_RELAXED);
    default:
        return __atomic_load_n((const uint64_t *)array + i, __ATOMIC_RELAXED);
    }
}

static inline void qmpi_mpit_store(const struct qmpi_mpit_type *type, void *array, int i,
                                   uint64_t word)
{
    switch (type->element) {
    case QMPI_MPIT_CHAR:
        __atomic_store_n((unsigned char *)array + i, (unsigned char)word, __ATOMIC_RELAXED);
        break;
    case QMPI_MPIT_INT32:
    case QMPI_MPIT_UINT32:
        __atomic_store_n((uint32_t *)array + i, (uint32_t)word, __ATOMIC_RELAXED);
        break;
    default:
        __atomic_store_n((uint64_t *)array + i, word, __ATOMIC_RELAXED);
    }
}

/* Returns a - b; integers wrap when they are stored. */
static inline uint64_t qmpi_mpit_subtract(const struct qmpi_mpit_type *type, uint64_t a, uint64_t b)
{
    if (type->element != QMPI_MPIT_DOUBLE)
        return a - b;
    union {
        uint64_t word;
        double real;
    } left = {a}, right = {b};
    left.real -= right.real;
    return left.word;
}

/* Stores an element, atomically, and returns its previous value. */
uint64_t qmpi_mpit_exchange(const struct qmpi_mpit_type *type, void *array, int i, uint64_t word);

/* Whether the level `raw` moves a watermark that is at `mark`: a high one up, or a low one down. */
bool qmpi_mpit_passes(const struct qmpi_mpit_type *type, enum qmpi_mpit_style style, uint64_t raw,
                      uint64_t mark);

#endif
