/* SPDX-License-Identifier: MIT */
/*
 * The result of a profile: of all ranks, or of one process that ended early. profile.so fills it,
 * the writers of text, JSON and CSV read it, and `qmpi report` reads it from a file. Times are in
 * seconds, sizes in bytes.
 */
#ifndef QMPI_PROFILE_RESULT_H
#define QMPI_PROFILE_RESULT_H

#include "profile/figures.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROFILE_SIZE_BINS = 64, PROFILE_TIME_BINS = 48 };

/* A quantity with one value per rank; a rank without calls has 0. */
struct profile_spread {
    double sum, mean, min, max, stddev; /* over ranks; stddev of the population */
    int min_rank, max_rank;             /* the lowest rank that has the value; -1: not known */
};

/* Calls of one kind. `time` is per rank; the figures of figures.h are over all ranks. */
#define PROFILE_CALLS_MEMBER(NAME, UNIT, COMBINE, HEADING, SINCE) double NAME;
struct profile_calls {
    uint64_t calls;
    struct profile_spread time;
    PROFILE_FIGURES(PROFILE_CALLS_MEMBER)
    struct profile_spread
        wait; /* sync=yes: waiting for other ranks before collectives; not part of `time` */
    uint64_t sent, received;
};

extern const struct profile_figure profile_figures[PROFILE_FIGURE_COUNT];

double profile_figure_get(const struct profile_calls *calls, int figure);
void profile_figure_set(struct profile_calls *calls, int figure, double value);

/* The calls of one rank. */
struct profile_rank_calls {
    int rank;
    uint64_t calls;
    double time, wait;
    uint64_t sent, received;
};

/* The calls of several ranks, in the order of the ranks. In a result of several ranks: of every
 * rank that made any, or of at most PROFILE_OUTLIERS ranks, half of them those with the least time,
 * and half with the most, where 0 counts, too. Otherwise, and in files of older versions: NULL. */
enum { PROFILE_OUTLIERS = 32 };
struct profile_by_rank {
    struct profile_rank_calls *all;
    size_t count;
};

/*
 * For how long a rank waited for another one at a call site: in point-to-point calls, beyond what
 * their data explain. In a result of several ranks at most PROFILE_WAITS_MOST for each call site,
 * the longest, unless every_rank is set.
 */
enum { PROFILE_WAITS_MOST = 64 };
struct profile_wait {
    int rank, peer; /* in MPI_COMM_WORLD; peer -1: unknown */
    uint64_t calls;
    double time;
};
struct profile_waits {
    struct profile_wait *all; /* by rank, then peer */
    size_t count;
};

struct profile_function {
    char *name;  /* "MPI_Send" */
    char *group; /* "point-to-point" */
    int ranks;   /* how many processes called it; 0: not known */
    struct profile_calls calls;
    struct profile_by_rank by_rank; /* functions of regions: NULL */
    /* Calls that moved bytes by their size (sent + received): bin 0: 1 byte, bin b: 2^b … 2^(b+1)
     * - 1. */
    uint64_t sizes[PROFILE_SIZE_BINS];
    uint64_t no_bytes; /* calls that moved no bytes */
    /* Calls by their time: bin 0: below 2 ns, bin b: 2^b … 2^(b+1) - 1 ns. */
    uint64_t times[PROFILE_TIME_BINS];
};

struct profile_frame {
    uint64_t offset; /* of the return address from the lowest address at which its module is
                        mapped */
    char *module;    /* path of the file; "" where it is not known (offset: the address itself) */
    char *function;  /* NULL: not known, or not looked up: signals and checkpoints leave that to
                        `qmpi report` */
    char *file;      /* NULL: no debug information */
    int line;        /* 0: not known */
    bool inlined; /* the function was inlined in that of the next frame, which has the same module
                     and offset; `depth` does not count it */
};

struct profile_callsite {
    char *name;                   /* the MPI function */
    struct profile_frame *frames; /* the caller first */
    int frame_count;
    int ranks;         /* how many processes called from here */
    uint64_t messages; /* and one-sided accesses, with data; not those of collectives */
    struct profile_calls calls;
    struct profile_by_rank by_rank;
    struct profile_waits waits;
};

/* Messages and one-sided accesses between two ranks of MPI_COMM_WORLD. */
struct profile_matrix_entry {
    int from, to;
    uint64_t messages, bytes;
};

struct profile_communicator {
    char *name;       /* from MPI_Comm_get_name; "": none */
    int size;         /* processes in it (both groups of an intercommunicator) */
    int first;        /* the lowest rank in MPI_COMM_WORLD of its processes; -1: not known */
    uint64_t members; /* a hash of its processes' ranks in MPI_COMM_WORLD: tells those of one name,
                         size and first rank apart. To be kept in the JSON file (as a string: it has
                         64 bits), or files of single processes cannot be brought together */
    uint64_t
        instances; /* how many communicators with this name and these processes, most on one rank */
    struct profile_calls calls;
};

struct profile_file {
    char *name;
    uint64_t opens;         /* over all ranks */
    uint64_t read, written; /* bytes */
    struct profile_calls calls;
};

/* A call in progress when the process was saved. All figures include it, with its time so far. */
struct profile_flight {
    char *name;                   /* the MPI function */
    struct profile_frame *frames; /* the caller first */
    int frame_count;
    int rank;
    double time; /* so far */
    bool waits;  /* sync=yes: it waits for other ranks; `time` is the waiting time */
    char *since; /* ISO 8601, UTC */
};

/* What the ranks of a node spent outside MPI in a region, in total. */
struct profile_node {
    char *host;
    double useful;
};

struct profile_region {
    char *name;
    uint64_t entries;             /* over all ranks */
    struct profile_spread time;   /* between begin and end, per rank */
    struct profile_spread mpi;    /* time in MPI */
    struct profile_spread useful; /* see profile_process */
    double path; /* by how much the longest chain of work that leads to a rank grew in the region:
                    the most of a rank, in seconds; 0: not known (path=no) */
    struct profile_node *nodes; /* those of which a rank was in the region */
    size_t node_count;
    struct profile_function *functions;
    size_t function_count;
};

/*
 * Efficiency over time: the application time of each rank in windows of equal width, and how much
 * of it was in MPI. Windows begin at the end of the rank's own MPI_Init. See windows.h.
 */
#define PROFILE_WINDOW_WIDTH 0.001 /* of the narrowest ones; others have 2^k times that */
enum { PROFILE_WINDOWS_MOST = 200, PROFILE_WINDOW_WHOLE = 200 };
struct profile_window_rank {
    int rank;
    size_t count;       /* of windows: in the last one the rank's application time ends */
    double last;        /* profiled time in the last one */
    unsigned char *mpi; /* of the profiled time, in 1/PROFILE_WINDOW_WHOLE, the mean over threads */
    unsigned char *profiled; /* of the width, in 1/PROFILE_WINDOW_WHOLE, but in the last one; NULL:
                                profiling was on all the time */
};
struct profile_windows {
    double width; /* in seconds; 0: there are none */
    struct profile_window_rank *ranks;
    size_t rank_count;
};

struct profile_process {
    int rank;
    char *host;
    double application; /* from MPI_Init's end to MPI_Finalize's begin, profiling switched on */
    double mpi; /* in MPI in that time, waiting (sync=yes) included, over all threads; a call from
                   within a call once */
    double useful; /* application time outside MPI; the mean over the threads that called MPI in
                      that   time, as `mpi` is their sum */
    double path; /* the longest chain of work, in seconds, through any ranks, that leads to the end
                    of this process; 0: not known (path=no) */
    uint64_t memory; /* peak resident size, bytes */
};

/* The ending of a process that used sessions alone and has finalized each. */
#define PROFILE_SESSIONS_ENDED "MPI_Session_finalize"

/* What is worth a finding (findings.h), in percent of the run; 0: the default. */
struct profile_thresholds {
    int any, init; /* of MPI_Init and MPI_Finalize: of at least 1 s */
};
enum { PROFILE_THRESHOLD = 5, PROFILE_INIT_THRESHOLD = 20 };

enum { PROFILE_SCHEMA = 2 }; /* of what is collected here */

struct profile_result {
    int schema;    /* of the file that it was read from; 0: PROFILE_SCHEMA */
    char *program; /* path */
    char *mpi;     /* first line of MPI_Get_library_version */
    char *begin;   /* ISO 8601, UTC */
    int tool_id;
    int ranks; /* how many processes there are in it */
    /* Only in the file of one process that could not join the others, or of a checkpoint: */
    int rank;          /* that process's; -1: it is of all ranks */
    char *termination; /* "exit", "MPI_Abort", "signal SIGTERM", "checkpoint", "MPI_Pcontrol",
                     PROFILE_SESSIONS_ENDED; NULL: MPI_Finalize */
    struct profile_thresholds thresholds;    /* in no file */
    bool every_rank;                         /* what is said by rank is said of every rank */
    struct profile_spread application, time; /* per rank; `time` is in MPI */
    /* Receives that were posted (MPI_Irecv, MPI_Start) and not seen to complete: freed, or pending.
     * Their bytes are nowhere. */
    uint64_t unfinished_receives;
    struct profile_flight *flights;
    size_t flight_count;
    struct profile_process *processes;
    size_t process_count;
    struct profile_function *functions; /* those that were called, most time first */
    size_t function_count;
    struct profile_callsite *callsites; /* most time first */
    size_t callsite_count;
    struct profile_matrix_entry *matrix; /* by from, then to */
    size_t matrix_entry_count;
    struct profile_communicator *communicators;
    size_t communicator_count;
    struct profile_file *files;
    size_t file_count;
    struct profile_region *regions;
    size_t region_count;
    struct profile_windows windows;
};

/* Frees a result with its strings and arrays, which are allocated by malloc. */
void profile_result_free(struct profile_result *result);

/* Frees the members of a function, call site, call in progress or the windows of a rank. */
void profile_window_rank_clear(struct profile_window_rank *rank);
void profile_function_clear(struct profile_function *function);
void profile_callsite_clear(struct profile_callsite *callsite);
void profile_flight_clear(struct profile_flight *flight);

/*
 * Whether files list a rank of profile_by_rank: those of which the time, with waiting, differs from
 * the mean over the ranks by more than PROFILE_DEVIATION of the mean application time; in results
 * that can still be merged, and with every_rank, all.
 */
#define PROFILE_DEVIATION 0.001
bool profile_rank_is_listed(const struct profile_result *result, const struct profile_calls *calls,
                            const struct profile_rank_calls *rank);

enum profile_sort { PROFILE_BY_TIME, PROFILE_BY_CALLS, PROFILE_BY_BYTES, PROFILE_BY_NAME };

/*
 * Sorts functions (also those of regions), call sites, communicators, files and regions: largest
 * first, names from a to z, equal ones by name. The matrix is not sorted. Bytes are those sent and
 * received; for files, those read and written.
 */
void profile_result_sort(struct profile_result *result, enum profile_sort order);

#endif
