/* SPDX-License-Identifier: MIT */
/*
 * Efficiency by the POP model, as TALP computes it, from the time that each rank spends outside
 * MPI: `useful` in the result. It is computed from a result wherever it is needed, and therefore
 * the same for a run, for merged files and for a file that is read.
 */
#ifndef QMPI_PROFILE_EFFICIENCY_H
#define QMPI_PROFILE_EFFICIENCY_H

#include "tools/profile/result/profile_result.h"

/* Parallel efficiency that is considered acceptable. */
#define PROFILE_EFFICIENCY_GOOD 0.8

struct profile_efficiency {
    double elapsed;    /* the time of the rank that was profiled longest */
    double mean, most; /* time outside MPI, over the ranks */
    int most_rank;     /* the rank that has most, or the first one of several; for a region -1 */
    int nodes;         /* different hosts */
    /* All factors are from 0 to 1. */
    double parallel;      /* mean / elapsed = balance * communication */
    double communication; /* most / elapsed */
    double balance;       /* mean / most = within_nodes * between_nodes; 1 if no rank has any */
    double within_nodes;  /* largest mean of a node / most */
    double between_nodes; /* mean / largest mean of a node */
    bool has_path;        /* The critical path is known, and the next three members are valid. */
    double path;          /* the longest chain of work, through any ranks, in seconds */
    double serialisation; /* most / path */
    double transfer;      /* path / elapsed; communication = serialisation * transfer */
    /* The part of the time of all ranks in which they had no processor, in or outside MPI; for a
     * region 0. The other figures do not tell this time from work and waiting. */
    double no_processor;
};

/* Returns for how many seconds of the elapsed time a process was not profiled (MPI_Pcontrol). The
 * elapsed time is that of the process that was profiled longest, so that time in which no process
 * was profiled does not count. */
double profile_efficiency_off(const struct profile_result *result,
                              const struct profile_process *process);

/*
 * Computes the efficiency of a run or, if `region` is not NULL, of a region of it. A rank that was
 * never in the region has no time outside MPI there. For the time while a rank was not profiled,
 * the same share outside MPI is assumed as for its profiled time, unless the latter is below 1 %
 * of the run. Returns false if no time was profiled, if `region` is from a file of an older
 * version, which lacks the nodes of regions, or if memory is exhausted.
 */
bool profile_efficiency_find(const struct profile_result *result,
                             const struct profile_region *region,
                             struct profile_efficiency *efficiency);

/* A figure, and its name in JSON and CSV. */
struct profile_efficiency_figure {
    const char *name;
    double value;
};
enum { PROFILE_EFFICIENCY_FIGURES = 9 };

/* Returns whether ranks had no processor for so long that the other figures need a remark. */
static inline bool profile_efficiency_lacks_processors(const struct profile_efficiency *efficiency)
{
    return efficiency->no_processor >= 0.05;
}

/* Fills `list`, and returns the number of figures. The last three exist only with `has_path`. */
int profile_efficiency_list(const struct profile_efficiency *efficiency,
                            struct profile_efficiency_figure list[PROFILE_EFFICIENCY_FIGURES]);

#endif
