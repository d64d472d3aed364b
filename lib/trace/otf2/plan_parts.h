/* SPDX-License-Identifier: MIT */
/* The parts of plan_make.c. Each fills a table of a process. */
#ifndef QMPI_TRACE_OTF2_PLAN_PARTS_H
#define QMPI_TRACE_OTF2_PLAN_PARTS_H

#include "trace/otf2/plan.h"

/* Makes a table. NULL: memory is exhausted, which the plan then knows. */
uint32_t *plan_table(struct archive_plan *plan, struct archive_tables *tables,
                     enum archive_table table, size_t count);

/* The number of a region, which is added if it is new; TRACE_NO_NUMBER: memory is exhausted. */
uint32_t plan_add_region(struct archive_plan *plan, const struct archive_region *region);

/* Which processes there are. */
void plan_find_ranks(struct archive_plan *plan);
/* The index in `ranks` of a rank in MPI_COMM_WORLD, or of that for unknown ones. */
uint64_t plan_find_rank(const struct archive_plan *plan, int rank);

void plan_add_comms(struct archive_plan *plan, size_t part);
void plan_order_comms(struct archive_plan *plan);
void plan_add_windows(struct archive_plan *plan, size_t part);
void plan_add_files(struct archive_plan *plan, size_t part);
void plan_add_sites(struct archive_plan *plan, size_t part);
void plan_free_frames(struct archive_plan *plan);

#endif
