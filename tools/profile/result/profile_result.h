/* SPDX-License-Identifier: MIT */
/*
 * The result of a profile: of all ranks, or of one or several processes whose data is not in a
 * result of all ranks. The tool, `qmpi report` and tools/trace/profile fill it, and the writers of
 * text, JSON, CSV and HTML read it. Times are in seconds, sizes in bytes.
 */
#ifndef QMPI_PROFILE_PROFILE_RESULT_H
#define QMPI_PROFILE_PROFILE_RESULT_H

#include "tools/profile/result/figures.h"
#include "tools/profile/result/members.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROFILE_SIZE_BINS = 64, PROFILE_TIME_BINS = 48 };

/* A quantity with one value per rank. A rank without calls counts as 0. */
struct profile_spread {
    double sum, mean, min, max, stddev; /* over ranks; stddev of the population */
    int min_rank, max_rank;             /* the lowest rank that has the value; -1: not known */
};

/* Calls of one kind. `time` and `wait` are per rank; the other figures are over all ranks. */
#define PROFILE_CALLS_MEMBER(NAME, UNIT, COMBINE, HEADING, SINCE) double NAME;
struct profile_calls {
    uint64_t calls;
    struct profile_spread time;
    PROFILE_FIGURES(PROFILE_CALLS_MEMBER)
    /* With sync=yes, the time of waiting for other ranks before collectives. `time` does not
     * include it. */
    struct profile_spread wait;
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

/*
 * The calls of several ranks, in the order of the ranks. With every_rank, a result of several ranks
 * lists every rank that made calls. Otherwise, it lists at most PROFILE_OUTLIERS ranks: half of
 * them are those with the least time, half those with the most, and ranks without calls count as
 * well. In a result of one rank, and in files of older versions, the list is empty.
 *
 * Findings are computed from the lists `callers`, which do not depend on the option ranks=. They
 * contain only ranks that made calls, and at most PROFILE_OUTLIERS.
 */
enum { PROFILE_OUTLIERS = 32 };
struct profile_by_rank {
    struct profile_rank_calls *all;
    size_t count;
};

/* The time for which a rank waited for another one in point-to-point calls of a call site, beyond
 * the time that moving the data of these calls explains. Unless every_rank is set, a result of
 * several ranks contains at most PROFILE_WAITS_MOST waits of each call site. Up to half of these
 * are waits of the rank that waits longest there. The others are the longest waits that remain. */
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
    struct profile_by_rank by_rank, callers; /* functions of regions: empty */
    /* Calls that moved bytes, by their size (sent + received). Bin b is for sizes from 2^b to
     * 2^(b+1) - 1. */
    uint64_t sizes[PROFILE_SIZE_BINS];
    uint64_t no_bytes; /* calls that moved no bytes */
    /* Calls by their time. Bin 0 is for less than 2 ns, bin b for 2^b to 2^(b+1) - 1 ns. */
    uint64_t times[PROFILE_TIME_BINS];
};

struct profile_frame {
    /* The distance of the return address from the lowest address at which its module is mapped. If
     * the module is unknown, it is the address itself. For a line of Python, it is the line. */
    uint64_t offset;
    char *module; /* the path of its file; "": unknown; for a line of Python, the same as `file` */
    /* NULL: unknown, or not looked up yet. After signals and at checkpoints, the tool does not look
     * it up; `qmpi report` does so later. */
    char *function;
    char *file; /* NULL: there is no debug information, or it was not read yet */
    int line;   /* 0: unknown */
    /* The function was inlined in that of the next frame, which has the same module and offset. The
     * option depth= does not count this frame. */
    bool inlined;
    /* The frame is in one of several programs, and lists show its module. Not in files. */
    bool names_module;
};

struct profile_callsite {
    char *name;                   /* the MPI function */
    struct profile_frame *frames; /* the caller first */
    int frame_count;
    int ranks;         /* how many processes called from here */
    uint64_t messages; /* messages and one-sided accesses with data; not in collectives */
    struct profile_calls calls;
    struct profile_by_rank by_rank, callers;
    struct profile_waits waits;
};

/*
 * The time outside MPI between two calls of a thread, from the end of a call at one call site to
 * the beginning of the next one at another (or the same) call site. Each process lists only the
 * pairs with most time: at most PROFILE_OUTSIDE_MOST, each with at least PROFILE_DEVIATION of its
 * application time. Pairs that it leaves out count as 0. Pauses between polling calls are not
 * included.
 */
enum { PROFILE_OUTSIDE_MOST = 64 };
struct profile_outside {
    uint64_t from, to; /* the call sites (profile_callsite_key); 0: none, or unknown */
    struct profile_spread time;
    struct profile_by_rank ranks; /* those that list the pair; only `rank` and `time` */
};

/* Messages and one-sided accesses between two ranks of MPI_COMM_WORLD. */
struct profile_matrix_entry {
    int from, to;
    uint64_t messages, bytes;
};

struct profile_communicator {
    char *name; /* from MPI_Comm_get_name; "": none */
    int size;   /* processes in it (both groups of an intercommunicator) */
    int first;  /* the lowest rank in MPI_COMM_WORLD of its processes; -1: not known */
    /* A hash of the ranks of its processes in MPI_COMM_WORLD. It distinguishes communicators with
     * the same name, size and first rank, also when files of single processes are merged. */
    uint64_t members;
    /* The number of communicators with this name and these processes on the rank that has most. */
    uint64_t instances;
    struct profile_calls calls;
};

struct profile_file {
    char *name;
    uint64_t opens;         /* over all ranks */
    uint64_t read, written; /* bytes */
    struct profile_calls calls;
};

/* A message for which a call in progress waits. */
struct profile_await {
    bool sending;  /* The call waits for the receiver. */
    int peer;      /* the rank in MPI_COMM_WORLD; -1: any, or unknown */
    bool any;      /* It receives from any rank. */
    int tag;       /* -1: any, or unknown */
    uint64_t comm; /* see profile_flight */
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
    /* The communicator that is passed to the call, or to which its messages belong. `comm` is a
     * number that is the same on all members. Communicators without a known identity share a number
     * if they have the same members. NULL and 0: there is none, or it is unknown. */
    char *communicator;
    uint64_t comm;
    char *members; /* the ranks in MPI_COMM_WORLD, such as "0-3,8,10-14:2"; NULL: unknown */
    int root;      /* of a collective: the rank in MPI_COMM_WORLD; -1: none */
    struct profile_await *awaits;
    size_t await_count;
};

/* A variable of the environment. */
struct profile_variable {
    char *name, *value;
};

/* The total time that the ranks of a node spent outside MPI in a region (`useful`). */
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
    /* The longest chain of work that leads to a rank grows while the rank is in the region. This is
     * the growth in seconds, on the rank where it is largest; 0: unknown. */
    double path;
    struct profile_node *nodes; /* the nodes with a rank that was in the region */
    size_t node_count;
    struct profile_function *functions;
    size_t function_count;
};

/*
 * Efficiency over time: the application time of each rank in windows of equal width, and how much
 * of it was in MPI. Windows begin at the end of the rank's own MPI_Init.
 */
#define PROFILE_WINDOW_WIDTH 0.001 /* seconds; all other widths are 2^k times this one */
enum { PROFILE_WINDOWS_MOST = 200, PROFILE_WINDOW_WHOLE = 200 };
struct profile_window_rank {
    int rank;
    size_t count; /* the number of windows; the application time of the rank ends in the last one */
    double last;  /* the profiled time in the last one */
    /* The part of the profiled time of each window that is in MPI, as the mean over threads, in
     * units of 1/PROFILE_WINDOW_WHOLE. */
    unsigned char *mpi;
    /* The part of each window, except the last one, that is profiled, in the same units. NULL:
     * profiling was on all the time. */
    unsigned char *profiled;
};
struct profile_windows {
    double width; /* in seconds; 0: there are none */
    struct profile_window_rank *ranks;
    size_t rank_count;
};

struct profile_process {
    int rank;
    char *host;
    /* The time from the end of MPI_Init to the start of MPI_Finalize while profiling was on. */
    double application;
    double off; /* the same time, while profiling was off (MPI_Pcontrol) */
    /* The part of `application` in MPI, including the waiting of sync=yes, summed over threads. The
     * time of a call within another call counts only once. */
    double mpi;
    /* The part of `application` outside MPI, as the mean over the threads that called MPI. */
    double useful;
    /* The longest chain of work, in seconds, through any ranks, that leads to the end of this
     * process; 0: unknown. */
    double path;
    uint64_t memory; /* the peak resident size in bytes */
    /* The time on processors, as a sum over all threads, and the time for which the process was
     * ready to run but had no processor (see processor.h). Both were measured since the end of
     * MPI_Init. If the time since then is longer than `application`, they were reduced in
     * proportion. 0: unknown, or none. */
    double processor_time, queued;
    uint64_t preemptions; /* how often the kernel took a processor from a thread since the end of
                             MPI_Init */
    char *processors;     /* those that the main thread may use, such as "0-3,8"; NULL: unknown */
    char *program;        /* its path; NULL: that of the result */
    char *termination;    /* like that of the result, for the process alone */
};

/* The termination of a process that used only sessions and has finalized all of them. */
#define PROFILE_SESSIONS_ENDED "MPI_Session_finalize"

/* The termination of a process whose data MPI_Finalize could not merge with that of the others. */
#define PROFILE_NOT_MERGED "MPI_Finalize"

/* Returns whether the process has finalized MPI, but reported separately. */
bool profile_result_is_separate(const char *termination);

/* The shortest time that causes a finding, in percent of the run; 0: the default. */
struct profile_thresholds {
    int any, init; /* `init` is for MPI_Init and MPI_Finalize, which must also take 1 s. */
};
enum { PROFILE_THRESHOLD = 5, PROFILE_INIT_THRESHOLD = 20 };

enum { PROFILE_SCHEMA = 2 }; /* the schema of files that this version writes */

struct profile_result {
    int schema;    /* of the file from which it was read; 0: PROFILE_SCHEMA */
    char *program; /* the path of the program of the lowest rank */
    char *command; /* the command line of the lowest rank; NULL: unknown */
    char *job;     /* identifies the processes that the launcher started together; NULL: unknown */
    char *batch_job; /* the number of the job in the batch system; NULL: none */
    char *user;      /* NULL: unknown */
    char *mpi;       /* the first line of MPI_Get_library_version */
    char *begin;     /* when the run began; ISO 8601, UTC */
    int tool_id;
    int ranks; /* the number of processes that it describes */
    int rank;  /* the rank if it describes a single process; otherwise -1 */
    /* How a process ended, if its data is not in the result of all ranks: "exit", "MPI_Abort",
     * "signal SIGTERM", "checkpoint", "MPI_Pcontrol", PROFILE_SESSIONS_ENDED or PROFILE_NOT_MERGED.
     * For several processes, the different ends are listed: "exit, MPI_Abort". NULL: this is the
     * result of all ranks. */
    char *termination;
    struct profile_variable *environment; /* of the lowest rank, by name */
    size_t variable_count;
    struct profile_thresholds thresholds;    /* not in files */
    bool is_filtered;                        /* profile_result_filter was called; not in files */
    bool every_rank;                         /* Lists by rank contain every rank. */
    struct profile_spread application, time; /* per rank; `time` is the time in MPI */
    /* Receives that were posted (MPI_Irecv, MPI_Start) and were not seen to complete, because they
     * were freed or are pending, or whose size is not known. No figure contains their bytes. */
    uint64_t unfinished_receives;
    struct profile_flight *flights;
    size_t flight_count;
    struct profile_process *processes;
    size_t process_count;
    struct profile_function *functions; /* those that were called, most time first */
    size_t function_count;
    struct profile_callsite *callsites; /* most time first */
    size_t callsite_count;
    struct profile_outside *outside; /* most time first */
    size_t outside_count;
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

/* The result of a run. */
struct profile_run {
    const char *name; /* the name of its first file */
    const struct profile_result *result;
    int files; /* how many files were merged */
};

/* The tables of members. Members that are not in files are not in these tables. */
extern const struct member_type members_process, members_function, members_callsite,
    members_matrix_entry, members_communicator, members_file, members_region, members_flight,
    members_await, members_windows, members_window_rank, members_rank_calls, members_wait,
    members_node, members_frame, members_variable, members_outside, members_outside_rank;

/* The members of struct profile_region, which members_region contains as well. Files contain those
 * of members_region_useful only if the nodes are known. */
extern const struct member_type members_region_head, members_region_useful, members_region_rest;

/* The members of struct profile_result, without its windows. Files of the first schema lack those
 * of members_result_unfinished. */
extern const struct member_type members_result_head, members_result_unfinished,
    members_result_arrays;

/* Frees a result with its strings and arrays, which are allocated by malloc. */
void profile_result_free(struct profile_result *result);

/*
 * Returns whether files list a rank of a profile_by_rank. `calls` are those of the function or call
 * site that has this list. Files list the ranks whose time, including waiting, differs from the
 * mean over the ranks by more than PROFILE_DEVIATION of the mean application time. If the result
 * can still be merged or has every_rank, its file lists all ranks.
 */
#define PROFILE_DEVIATION 0.001
bool profile_rank_is_listed(const struct profile_result *result, const struct profile_calls *calls,
                            const struct profile_rank_calls *rank);

enum profile_sort { PROFILE_BY_TIME, PROFILE_BY_CALLS, PROFILE_BY_BYTES, PROFILE_BY_NAME };

/*
 * Sorts functions (also those of regions), call sites, communicators, files and regions. The
 * largest come first, and equal ones are ordered by name. PROFILE_BY_NAME orders from a to z. Pairs
 * of calls (struct profile_outside) are always sorted by time. The matrix is not sorted. Bytes are
 * those sent and received; for files, those read and written.
 */
void profile_result_sort(struct profile_result *result, enum profile_sort order);

/*
 * Keeps the functions, call sites and functions of regions whose MPI function matches `pattern`
 * (fnmatch, ignoring case), and removes the others. Removes the time outside MPI before or after
 * call sites that are removed. Data that does not refer to single functions (matrix, communicators,
 * files, processes, totals) does not change. Returns the number of remaining functions.
 */
size_t profile_result_filter(struct profile_result *result, const char *pattern);

/* ---- Nodes ----------------------------------------------------------------------------------- */

struct profile_host {
    const char *name; /* belongs to the result */
    int ranks;
};

/* Lists the hosts by name in an array that the caller frees. Returns their number; 0 if there is
 * none or memory is exhausted. */
size_t profile_hosts_list(const struct profile_result *result, struct profile_host **hosts);

/* ---- Call sites ------------------------------------------------------------------------------ */

/* Returns a number that identifies a call site on all ranks. It depends on the function and on the
 * places of the frames, and is never 0. */
uint64_t profile_callsite_key(const char *function, const struct profile_frame *frames, int count);

/* Returns whether a module is an extension of Python, such as MPI.cpython-311-PLATFORM.so or
 * MPI.abi3.so. */
bool profile_module_is_extension(const char *module);

/* Returns whether the caller in any call site is a line of Python. The module of such a frame is
 * the file of the line. */
bool profile_has_python_lines(const struct profile_result *result);

/* Returns the call site with a key, or NULL. */
const struct profile_callsite *profile_callsite_find(const struct profile_result *result,
                                                     uint64_t key);

/* ---- Programs -------------------------------------------------------------------------------- */

/* Gives both results the program of the lowest rank, and gives `result` the command line, batch
 * job, user and environment of this rank. Call this before `other` is merged into `result`. Returns
 * false if memory is exhausted; each process then still has its program. */
bool profile_programs_equalize(struct profile_result *result, struct profile_result *other);

/* Returns whether the processes have several programs. */
bool profile_programs_are_several(const struct profile_result *result);

/*
 * Lists the paths of the programs, in the order of their ranks, in an array that the caller frees.
 * Programs beyond the first PROFILE_PROGRAMS_MOST are left out. Returns their number; 0 if memory
 * is exhausted.
 */
enum { PROFILE_PROGRAMS_MOST = 16 };
size_t profile_programs_list(const struct profile_result *result, const char ***programs);

/* Returns the ranks of a program as "rank 0", "ranks 1-3, 7", or "ranks 0, 2, 4, …", which the
 * caller frees. Returns NULL if memory is exhausted. */
char *profile_programs_ranks(const struct profile_result *result, const char *program);

/* ---- Frames ---------------------------------------------------------------------------------- */

/*
 * Finds the functions at `module` and `offset` of a frame, with the place in each: first the
 * innermost one, then the function in which it was inlined, and so on; the last one is the function
 * that contains the code. Sets `function`, `file` and `line` of each, and returns their number; 0:
 * nothing is known. *places and its strings are allocated by malloc, and belong to the caller.
 */
typedef int profile_programs_finder(const struct profile_result *result,
                                    const struct profile_frame *frame,
                                    struct profile_frame **places);

/* Replaces each frame without a function by the frames that `find` returns for it, of which all but
 * the last are marked as `inlined`. Frames are left as they are if nothing is known or memory is
 * exhausted. Sets names_module of all frames. */
void profile_programs_resolve(struct profile_result *result, profile_programs_finder *find);

/* Returns "function (file:line)" or "module+offset" for each frame, separated by " < ", which the
 * caller frees. Returns NULL if memory is exhausted. */
char *profile_programs_describe(const struct profile_frame *frames, int count);

/* ---- Windows of time ------------------------------------------------------------------------- */

/* The time of a rank in a window. */
struct profile_window {
    double profiled; /* application time */
    double mpi;      /* in MPI; the mean over threads, see profile_process.useful */
};

/*
 * Sets one window of a rank, which has rank->count windows. They must be set one after the other,
 * from `number` 0 on, because the rounding error of a window is added to the next one, so that the
 * sum over windows is right. The arrays must have room for the window. `rounding` must be zero
 * before the first one.
 */
struct profile_windows_rounding {
    double profiled, mpi;
};
void profile_window_set(struct profile_windows_rounding *rounding, struct profile_window_rank *rank,
                        double width, size_t number, struct profile_window window);

/* Returns the time of a rank in a window, or 0 after the last window of the rank. */
struct profile_window profile_window_get(const struct profile_windows *windows,
                                         const struct profile_window_rank *rank, size_t number);

/* Returns the number of windows of the rank that has most. */
size_t profile_windows_count(const struct profile_windows *windows);

/* Joins neighbouring windows in pairs. */
void profile_windows_widen(struct profile_windows *windows);

/* Makes the windows of both equally wide. */
void profile_windows_equalize(struct profile_windows *mine, struct profile_windows *its);

/* The efficiency in some windows, as efficiency.h defines it. */
struct profile_window_efficiency {
    double elapsed;       /* of the rank that was profiled longest in them */
    double parallel;      /* balance * communication */
    double balance;       /* 1 if no rank has any time outside MPI */
    double communication; /* of the rank that has most time outside MPI */
    int most_rank;        /* the rank that has most time outside MPI, or the first one of several */
};

/* Computes the efficiency in the windows from `first` to before `end`. Returns false if no rank was
 * profiled in them. */
bool profile_windows_find(const struct profile_windows *windows, size_t first, size_t end,
                          struct profile_window_efficiency *efficiency);

#endif
