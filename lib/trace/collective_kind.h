/* SPDX-License-Identifier: MIT */
/*
 * Which members of a collective wait for which others, whatever the MPI library does: those that
 * receive data of others cannot leave before these have entered.
 */
#ifndef QMPI_TRACE_COLLECTIVE_KIND_H
#define QMPI_TRACE_COLLECTIVE_KIND_H

#include "trace/definitions.h"

#include <stdbool.h>

enum collective_kind {
    COLLECTIVE_OTHER,     /* nobody need wait, as far as is known */
    COLLECTIVE_BARRIER,   /* all for all */
    COLLECTIVE_ALL,       /* all that receive data for all */
    COLLECTIVE_FROM_ROOT, /* all others that receive data for the root */
    COLLECTIVE_TO_ROOT,   /* the root for all */
    COLLECTIVE_PREFIX     /* each for those with a lower rank */
};

/* Of a function's name; those of the large-count and nonblocking variants are the same. */
enum collective_kind trace_collective_kind(const char *function);

/* The kinds of all functions of a process, which the caller frees. NULL: memory is exhausted. */
unsigned char *trace_collective_kinds(const struct trace_process *process);

#endif
