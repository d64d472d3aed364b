/* SPDX-License-Identifier: MIT */
/* See types.h. */
#include "mpit/types.h"

#include <stddef.h>

/* Groups of datatypes, as the classes allow them. */
enum {
    SIGNED_INT = 1 << 0,
    UNSIGNED = 1 << 1, /* unsigned, unsigned long, unsigned long long */
    DOUBLE = 1 << 2,
    OTHER = 1 << 3,
    ANY = SIGNED_INT | UNSIGNED | DOUBLE | OTHER
};

#define INTEGER(c_type, sign)                                                                      \
    (sizeof(c_type) == 8 ? QMPI_MPIT_##sign##64 : QMPI_MPIT_##sign##32), sizeof(c_type)

/* MPI 4.0, section 15.3.5 "Datatype System", with the types of fixed size that MPI_T events add. */
static const struct qmpi_mpit_type types[] = {
    {MPI_INT, INTEGER(int, INT), SIGNED_INT},
    {MPI_UNSIGNED, INTEGER(unsigned, UINT), UNSIGNED},
    {MPI_UNSIGNED_LONG, INTEGER(unsigned long, UINT), UNSIGNED},
    {MPI_UNSIGNED_LONG_LONG, INTEGER(unsigned long long, UINT), UNSIGNED},
    {MPI_COUNT, INTEGER(MPI_Count, INT), OTHER},
    {MPI_CHAR, QMPI_MPIT_CHAR, 1, OTHER},
    {MPI_DOUBLE, QMPI_MPIT_DOUBLE, sizeof(double), DOUBLE},
    {MPI_INT32_T, QMPI_MPIT_INT32, 4, OTHER},
    {MPI_UINT32_T, QMPI_MPIT_UINT32, 4, OTHER},
    {MPI_INT64_T, QMPI_MPIT_INT64, 8, OTHER},
    {MPI_UINT64_T, QMPI_MPIT_UINT64, 8, OTHER},
};

static const struct {
    int var_class;
    unsigned allowed;
    enum qmpi_mpit_style style;
} classes[] = {
    /* MPI 4.0, section 15.3.7 "Performance Variable Classes". MPI_INT is added for LEVEL, because
     * the example there reads such a variable. */
    {MPI_T_PVAR_CLASS_STATE, SIGNED_INT, QMPI_MPIT_PRESENT},
    {MPI_T_PVAR_CLASS_LEVEL, SIGNED_INT | UNSIGNED | DOUBLE, QMPI_MPIT_PRESENT},
    {MPI_T_PVAR_CLASS_SIZE, UNSIGNED | DOUBLE, QMPI_MPIT_PRESENT},
    {MPI_T_PVAR_CLASS_PERCENTAGE, DOUBLE, QMPI_MPIT_PRESENT},
    {MPI_T_PVAR_CLASS_HIGHWATERMARK, UNSIGNED | DOUBLE, QMPI_MPIT_HIGH},
    {MPI_T_PVAR_CLASS_LOWWATERMARK, UNSIGNED | DOUBLE, QMPI_MPIT_LOW},
    {MPI_T_PVAR_CLASS_COUNTER, UNSIGNED, QMPI_MPIT_SUM},
    {MPI_T_PVAR_CLASS_AGGREGATE, UNSIGNED | DOUBLE, QMPI_MPIT_SUM},
    {MPI_T_PVAR_CLASS_TIMER, UNSIGNED | DOUBLE, QMPI_MPIT_SUM},
    {MPI_T_PVAR_CLASS_GENERIC, ANY, QMPI_MPIT_PRESENT},
};

static const struct {
    int bind;
    int size;
} objects[] = {
    {MPI_T_BIND_NO_OBJECT, 0},
    {MPI_T_BIND_MPI_COMM, sizeof(MPI_Comm)},
    {MPI_T_BIND_MPI_DATATYPE, sizeof(MPI_Datatype)},
    {MPI_T_BIND_MPI_ERRHANDLER, sizeof(MPI_Errhandler)},
    {MPI_T_BIND_MPI_FILE, sizeof(MPI_File)},
    {MPI_T_BIND_MPI_GROUP, sizeof(MPI_Group)},
    {MPI_T_BIND_MPI_OP, sizeof(MPI_Op)},
    {MPI_T_BIND_MPI_REQUEST, sizeof(MPI_Request)},
    {MPI_T_BIND_MPI_WIN, sizeof(MPI_Win)},
    {MPI_T_BIND_MPI_MESSAGE, sizeof(MPI_Message)},
    {MPI_T_BIND_MPI_INFO, sizeof(MPI_Info)},
#ifdef QMPI_HAS_BIND_SESSION /* since MPI 4.1 */
    {MPI_T_BIND_MPI_SESSION, sizeof(MPI_Session)},
#endif
};

static const int verbosities[] = {
    MPI_T_VERBOSITY_USER_BASIC,   MPI_T_VERBOSITY_USER_DETAIL,   MPI_T_VERBOSITY_USER_ALL,
    MPI_T_VERBOSITY_TUNER_BASIC,  MPI_T_VERBOSITY_TUNER_DETAIL,  MPI_T_VERBOSITY_TUNER_ALL,
    MPI_T_VERBOSITY_MPIDEV_BASIC, MPI_T_VERBOSITY_MPIDEV_DETAIL, MPI_T_VERBOSITY_MPIDEV_ALL,
};

static const int scopes[] = {
    MPI_T_SCOPE_CONSTANT, MPI_T_SCOPE_READONLY, MPI_T_SCOPE_LOCAL,  MPI_T_SCOPE_GROUP,
    MPI_T_SCOPE_GROUP_EQ, MPI_T_SCOPE_ALL,      MPI_T_SCOPE_ALL_EQ,
};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static bool is_among(int value, const int *values, size_t count)
{
    size_t i = 0;
    while (i < count && values[i] != value)
        i++;
    return i < count;
}

const struct qmpi_mpit_type *qmpi_mpit_type_of(MPI_Datatype datatype)
{
    for (size_t i = 0; i < LENGTH(types); i++) {
        if (types[i].datatype == datatype)
            return &types[i];
    }
    return NULL;
}

bool qmpi_mpit_class_allows(int var_class, const struct qmpi_mpit_type *type,
                            enum qmpi_mpit_style *style)
{
    for (size_t i = 0; i < LENGTH(classes); i++) {
        if (classes[i].var_class != var_class || !(classes[i].allowed & type->group))
            continue;
        *style = classes[i].style;
        return true;
    }
    return false;
}

bool qmpi_mpit_is_class(int var_class)
{
    size_t i = 0;
    while (i < LENGTH(classes) && classes[i].var_class != var_class)
        i++;
    return i < LENGTH(classes);
}

bool qmpi_mpit_is_verbosity(int verbosity)
{
    return is_among(verbosity, verbosities, LENGTH(verbosities));
}

bool qmpi_mpit_is_scope(int scope)
{
    return is_among(scope, scopes, LENGTH(scopes));
}

int qmpi_mpit_object_size(int bind)
{
    for (size_t i = 0; i < LENGTH(objects); i++) {
        if (objects[i].bind == bind)
            return objects[i].size;
    }
    return -1;
}

uint64_t qmpi_mpit_exchange(const struct qmpi_mpit_type *type, void *array, int i, uint64_t word)
{
    switch (type->size) {
    case 1:
        return __atomic_exchange_n((unsigned char *)array + i, (unsigned char)word,
                                   __ATOMIC_RELAXED);
    case 4:
        return __atomic_exchange_n((uint32_t *)array + i, (uint32_t)word, __ATOMIC_RELAXED);
    default:
        return __atomic_exchange_n((uint64_t *)array + i, word, __ATOMIC_RELAXED);
    }
}

bool qmpi_mpit_passes(const struct qmpi_mpit_type *type, enum qmpi_mpit_style style, uint64_t raw,
                      uint64_t mark)
{
    const bool high = style == QMPI_MPIT_HIGH;
    if (type->element != QMPI_MPIT_DOUBLE)
        return high ? raw > mark : raw < mark;
    union {
        uint64_t word;
        double real;
    } level = {raw}, past = {mark};
    return high ? level.real > past.real : level.real < past.real;
}
