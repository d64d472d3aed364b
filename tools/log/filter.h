/* SPDX-License-Identifier: MIT */
/* Lists in options: functions by names, patterns and groups; ranks. */
#ifndef QMPI_TOOL_LOG_FILTER_H
#define QMPI_TOOL_LOG_FILTER_H

#include <qmpi/qmpi.h>

#include <stdbool.h>

/* From rank `first` to rank `last`. */
struct rank_range {
    int first, last;
};

struct ranks {
    struct rank_range *ranges;
    int count; /* 0: every rank */
};

/*
 * "MPI_Send;MPI_I*;collective;!MPI_Barrier": each item adds functions or takes them away again;
 * where the first one takes away all were there before. NULL, or the item that names no function,
 * to be freed.
 */
char *choose_functions(const char *list, bool chosen[MPI_LAST_FUNC]);

/* "0;4-7". Returns NULL, or the item that is not a rank, which the caller frees. */
char *choose_ranks(const char *list, struct ranks *ranks);

/* Whether a rank is among them. */
bool choose_rank(const struct ranks *ranks, int rank);

#endif
