/* SPDX-License-Identifier: MIT */
/*
 * The type signatures of datatypes, as hashes: the sequence of basic types is a polynomial modulo a
 * prime, so that the hash of a concatenation follows from those of its parts. All derived types but
 * structures repeat the signature of another type, so many times as it fits into their size. The
 * signature of a derived type is cached with it, as an attribute.
 */
#include "observe/attributes.h"
#include "observe/record.h"
#include "observe/type_contents.h"
#include "util/util.h"

#include <stdlib.h>

/* ---- Sequences ------------------------------------------------------------------------------- */

static const uint64_t prime = ((uint64_t)1 << 61) - 1, base = 0x19e3779b97f4a7c5;
__extension__ typedef unsigned __int128 wide;

static uint64_t reduce(uint64_t value)
{
    value = (value & prime) + (value >> 61);
    return value < prime ? value : value - prime;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
    const wide product = (wide)a * b;
    return reduce((uint64_t)(product & prime) + (uint64_t)(product >> 61));
}

static uint64_t power(uint64_t value, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            result = multiply(result, value);
        value = multiply(value, value);
    }
    return result;
}

int QMPIX_Signature_append(QMPIX_Signature *signature, const QMPIX_Signature *other,
                           MPI_Count count)
{
    MPI_Count added, total;
    if (!signature || !other || count < 0 || signature->count < 0 || other->count < 0)
        return MPI_ERR_ARG;
    if (__builtin_mul_overflow(other->count, count, &added) ||
        __builtin_add_overflow(signature->count, added, &total))
        return MPI_ERR_ARG;
    if (!added)
        return MPI_SUCCESS;
    /* 1, 2, 4, … copies of `other`, and that by which they move what stands before them. */
    uint64_t hash = signature->hash, copies = other->hash;
    uint64_t shift = power(base, (uint64_t)other->count);
    for (uint64_t left = (uint64_t)count; left; left >>= 1) {
        if (left & 1)
            hash = reduce(multiply(hash, shift) + copies);
        copies = reduce(multiply(copies, shift) + copies);
        shift = multiply(shift, shift);
    }
    *signature = (QMPIX_Signature){hash, total, signature->packed || other->packed};
    return MPI_SUCCESS;
}

/* Of one element. The arguments are the same for this type in all processes. */
static QMPIX_Signature signature_of_element(uint64_t kind, uint64_t first, uint64_t second)
{
    const uint64_t factor = 0xbf58476d1ce4e5b9;
    uint64_t hash = (kind + 1) * factor;
    hash = (hash ^ hash >> 29 ^ first) * factor;
    hash = (hash ^ hash >> 29 ^ second) * factor;
    return (QMPIX_Signature){reduce(hash ^ hash >> 29), 1, 0};
}

/* ---- Basic types ----------------------------------------------------------------------------- */

/* Types that consist of two basic ones. */
static bool find_pair(MPI_Datatype type, MPI_Datatype parts[2])
{
    const MPI_Datatype pairs[][3] = {
        {MPI_2INT, MPI_INT, MPI_INT},
        {MPI_DOUBLE_INT, MPI_DOUBLE, MPI_INT},
        {MPI_FLOAT_INT, MPI_FLOAT, MPI_INT},
        {MPI_LONG_INT, MPI_LONG, MPI_INT},
        {MPI_SHORT_INT, MPI_SHORT, MPI_INT},
        {MPI_LONG_DOUBLE_INT, MPI_LONG_DOUBLE, MPI_INT},
        {MPI_2INTEGER, MPI_INTEGER, MPI_INTEGER},
        {MPI_2REAL, MPI_REAL, MPI_REAL},
        {MPI_2DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION},
#ifdef MPI_2COMPLEX
        {MPI_2COMPLEX, MPI_COMPLEX, MPI_COMPLEX},
        {MPI_2DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_DOUBLE_COMPLEX},
#endif
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (type == pairs[i][0]) {
            parts[0] = pairs[i][1];
            parts[1] = pairs[i][2];
            return true;
        }
    }
    return false;
}

/* A number that is the same in all processes: the handle in Fortran, or that of the standard ABI.
 */
static uint64_t number_of(MPI_Datatype type)
{
#if defined(MPI_Type_c2f) /* a macro, and no function */
    return (uint64_t)MPI_Type_c2f(type);
#elif defined(OPEN_MPI) || defined(MPICH_VERSION)
    return (uint64_t)QMPI_PMPI(Type_c2f, TYPE_C2F)(type);
#else
    return (uintptr_t)type;
#endif
}

static QMPIX_Signature signature_of_basic(MPI_Datatype type)
{
    QMPIX_Signature signature = signature_of_element(MPI_COMBINER_NAMED, number_of(type), 0);
    signature.packed = type == MPI_PACKED;
    return signature;
}

/* Types of size 0 are markers (MPI_LB), not elements. */
static int find_named(MPI_Datatype type, QMPIX_Signature *signature)
{
    MPI_Datatype parts[2] = {type};
    MPI_Count size = 0;
    if (QMPI_PMPI(Type_size_x, TYPE_SIZE_X)(type, &size) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    *signature = (QMPIX_Signature){.count = 0};
    const int count = find_pair(type, parts) ? 2 : size > 0;
    for (int i = 0; i < count; i++) {
        const QMPIX_Signature part = signature_of_basic(parts[i]);
        QMPIX_Signature_append(signature, &part, 1);
    }
    return MPI_SUCCESS;
}

/* ---- Derived types --------------------------------------------------------------------------- */

static int find_signature(MPI_Datatype type, QMPIX_Signature *signature);

static int find_structure(const struct qmpi_type_contents *contents, QMPIX_Signature *signature)
{
    int result = MPI_SUCCESS;
    *signature = (QMPIX_Signature){.count = 0};
    for (MPI_Count i = 0; i < contents->type_count && result == MPI_SUCCESS; i++) {
        QMPIX_Signature part;
        result = find_signature(contents->types[i], &part);
        if (result == MPI_SUCCESS)
            result = QMPIX_Signature_append(signature, &part,
                                            contents->count_count ? contents->counts[i + 1]
                                                                  : contents->integers[i + 1]);
    }
    return result;
}

/* Of a type that repeats `part` in its size. */
static int find_repeated(MPI_Datatype type, MPI_Datatype part, QMPIX_Signature *signature)
{
    MPI_Count size = 0, part_size = 0;
    QMPIX_Signature one;
    const int result = find_signature(part, &one);
    if (result != MPI_SUCCESS)
        return result;
    if (QMPI_PMPI(Type_size_x, TYPE_SIZE_X)(type, &size) != MPI_SUCCESS ||
        QMPI_PMPI(Type_size_x, TYPE_SIZE_X)(part, &part_size) != MPI_SUCCESS || size < 0 ||
        part_size < 0)
        return MPI_ERR_OTHER;
    *signature = (QMPIX_Signature){.count = 0};
    return QMPIX_Signature_append(signature, &one, part_size ? size / part_size : 0);
}

static int find_derived(MPI_Datatype type, struct qmpi_type_contents *contents,
                        QMPIX_Signature *signature)
{
    int result;
    if (!qmpi_type_find_contents(type, contents))
        return MPI_ERR_OTHER;
    if (qmpi_type_is_f90(contents->combiner)) {
        const int *integers = contents->integers;
        *signature =
            signature_of_element((uint64_t)contents->combiner, (uint64_t)integers[0],
                                 (uint64_t)(contents->integer_count > 1 ? integers[1] : 0));
        result = MPI_SUCCESS;
    } else if (contents->combiner == MPI_COMBINER_STRUCT) {
        result = find_structure(contents, signature);
    } else {
        result = find_repeated(type, contents->types[0], signature);
    }
    qmpi_type_release(contents);
    return result;
}

/* ---- Stored with the type -------------------------------------------------------------------- */

static struct qmpi_attribute attribute = QMPI_ATTRIBUTE(free);
QMPI_LOCK(lock);

/* Another thread may have been faster. */
static void store(MPI_Datatype type, const QMPIX_Signature *signature)
{
    pthread_mutex_lock(&lock);
    QMPIX_Signature *stored =
        qmpi_attribute_of_type(&attribute, type) ? NULL : malloc(sizeof *stored);
    if (stored) {
        *stored = *signature;
        qmpi_attribute_set_type(&attribute, type, stored);
    }
    pthread_mutex_unlock(&lock);
}

static int find_signature(MPI_Datatype type, QMPIX_Signature *signature)
{
    struct qmpi_type_contents contents;
    if (!qmpi_type_find_envelope(type, &contents))
        return MPI_ERR_OTHER;
    if (contents.combiner == MPI_COMBINER_NAMED)
        return find_named(type, signature);
    const QMPIX_Signature *stored = qmpi_attribute_of_type(&attribute, type);
    if (stored) {
        *signature = *stored;
        return MPI_SUCCESS;
    }
    const int result = find_derived(type, &contents, signature);
    if (result == MPI_SUCCESS && !qmpi_type_is_f90(contents.combiner))
        store(type, signature);
    return result;
}

int QMPIX_Datatype_get_signature(MPI_Datatype type, QMPIX_Signature *signature)
{
    int initialized = 0, finalized = 0;
    QMPIX_Signature found;
    if (type == MPI_DATATYPE_NULL || !signature)
        return MPI_ERR_ARG;
    QMPI_PMPI(Initialized, INITIALIZED)(&initialized);
    QMPI_PMPI(Finalized, FINALIZED)(&finalized);
    if (!initialized || finalized)
        return MPI_ERR_OTHER;
    const int result = find_signature(type, &found);
    if (result == MPI_SUCCESS)
        *signature = found;
    return result == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_OTHER;
}
