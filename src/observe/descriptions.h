/* SPDX-License-Identifier: MIT */
/*
 * The descriptions of all functions. They are generated without pointers, so that they need no
 * relocations in a process without observers, and unpacked when the first one is requested.
 */
#ifndef QMPI_OBSERVE_DESCRIPTIONS_H
#define QMPI_OBSERVE_DESCRIPTIONS_H

#include "generate/abi_meanings.h"
#include "observe/record.h"

struct qmpi_packed_parameter {
    unsigned short name, type; /* places in qmpi_description_strings */
    unsigned char kind, indirection, is_array, is_const;
    unsigned char meaning; /* enum qmpi_abi_meaning */
    unsigned short size;
};

struct qmpi_packed_function {
    unsigned group;
    unsigned char result;
    unsigned short parameters; /* the first one's place in qmpi_packed_parameters */
    unsigned char parameter_count;
};

extern const char qmpi_description_strings[] QMPI_HIDDEN;
extern const struct qmpi_packed_parameter qmpi_packed_parameters[] QMPI_HIDDEN;
extern const int qmpi_packed_parameter_count QMPI_HIDDEN;
extern const struct qmpi_packed_function qmpi_packed_functions[QMPI_FUNCTION_COUNT] QMPI_HIDDEN;

/* Fills qmpi_described; once, from any thread. */
void qmpi_describe_all(void);

#endif
