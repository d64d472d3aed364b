/* SPDX-License-Identifier: MIT */
/* Finds the names of predefined handles and constants (see standard.h). */
#include "standard/standard.h"

#include <stddef.h>

static const char *find_value(struct standard_range range, long long value)
{
    const struct standard_constant *constant = &standard_constants[range.first];
    for (int i = 0; i < range.count; i++) {
        if (constant[i].value == value)
            return standard_constant_names + constant[i].name;
    }
    return NULL;
}

const char *standard_find_handle(QMPIX_Kind kind, uintptr_t handle)
{
    enum { PREDEFINED = 0x400 }; /* Predefined handles are below this, others are above. */
    return (int)kind < STANDARD_HANDLE_KINDS && handle < PREDEFINED
               ? find_value(standard_handles[kind], (long long)handle)
               : NULL;
}

bool standard_is_null(QMPIX_Kind kind, uintptr_t handle)
{
    return (int)kind < STANDARD_HANDLE_KINDS && standard_handles[kind].count &&
           (uintptr_t)standard_constants[standard_handles[kind].first].value == handle;
}

const char *standard_find_constant(QMPIX_Constants kind, long long value)
{
    return (int)kind < STANDARD_NUMBER_KINDS ? find_value(standard_numbers[kind], value) : NULL;
}

bool standard_is_bits(QMPIX_Constants kind)
{
    return (int)kind < STANDARD_NUMBER_KINDS && standard_are_bits[kind];
}

const char *standard_find_bit(QMPIX_Constants kind, long long value, long long *bit)
{
    const struct standard_range range = standard_numbers[kind];
    const struct standard_constant *constant = &standard_constants[range.first];
    for (int i = 0; i < range.count; i++) {
        if (value & constant[i].value) {
            *bit = constant[i].value;
            return standard_constant_names + constant[i].name;
        }
    }
    return NULL;
}
