/* SPDX-License-Identifier: MIT */
/* Lists in options: functions by names, patterns and groups; ranks. */
#ifndef QMPI_LOG_CHOOSE_H
#define QMPI_LOG_CHOOSE_H

#include "options.h"

/*
 * "MPI_Send;MPI_I*;collective;!MPI_Barrier": each item adds functions or takes them away again;
 * where the first one takes away all were there before. NULL, or the item that names no function,
 * to be freed.
 */
char *choose_functions(const char *list, bool chosen[MPI_LAST_FUNC]);

/* "0;4-7". NULL, or the item that is no rank, to be freed. */
char *choose_ranks(const char *list, struct options *options);

/* Whether the layer shows calls of this rank. */
bool choose_rank(const struct options *options, int rank);

#endif
