/* SPDX-License-Identifier: MIT */
/*
 * Statements: the texts that the processes of the job exchange in MPI_Init, or when they have
 * created a communicator of all processes from a session. A statement consists of lines, whose
 * first letter is their kind. Identities, names and messages are escaped in it;
 * qmpi_statement_restore restores them. Equal statements, as most are, are sent once for all ranks
 * that make them.
 */
#ifndef QMPI_JOB_STATEMENT_H
#define QMPI_JOB_STATEMENT_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    QMPI_STATES_LAYER = 'L', /* followed by its identity, QMPI_STATES_NAME, and its name, which may
                                be "" */
    QMPI_STATES_PROBLEM = 'P', /* followed by a message */
    QMPI_STATES_STOP = 'S',    /* the process cannot run */
    QMPI_STATES_NAME = '\1'    /* between the identity of a layer and its name */
};

/* Sets the identity of layer `tool_id` (0: the measurement of the clocks). Layers of different
 * processes count as the same layer if they have equal identities. If two processes have such
 * layers in different orders, some of these layers count as different (see qmpi_job_number_layers).
 * A layer without an identity is left out. Messages use `name`; NULL: they do not list the layer.
 * The strings are not copied, and must stay as they are. Called while the stack is built. */
void qmpi_statement_set_layer(int tool_id, const char *identity, const char *name);

/* Adds a problem of this process, as lines for qmpi_print. The process with launcher rank 0 prints
 * its problems at once. A problem that the process with launcher rank 0 does not have is printed in
 * MPI_Init, by the lowest rank that has it. */
void qmpi_statement_add_problem(const char *text);

/* States that this process cannot run, so that the job ends in MPI_Init. */
void qmpi_statement_set_stop(void);

/* Returns the statement of this process. The caller frees it. */
char *qmpi_statement_of_process(void);

/* Returns one more than the highest tool_id in the statement of this process; 0: no layers. */
int qmpi_statement_layers(void);

/* Whether the statement of this process contains this layer; `tool_id` must be less than
 * qmpi_statement_layers(). */
bool qmpi_statement_has_layer(int tool_id);

/* Whether the statement of this process contains this problem, as qmpi_statement_next_line returns
 * it. */
bool qmpi_statement_has_problem(const char *line);

/* Returns the next line of a kind in `*statement`, without its letter, and moves `*statement`
 * behind this line. NULL: there is no such line. The caller frees the line. */
char *qmpi_statement_next_line(const char **statement, char kind);

/* Restores, in place, the characters in a name or a message that are escaped in statements. */
void qmpi_statement_restore(char *text);

/* ---- Statements of all processes ------------------------------------------------------------- */

struct qmpi_statement_range {
    int32_t first, last;
};

/* The statement of some ranks. */
struct qmpi_statement {
    char *text;
    char host[64];                       /* of the lowest of these ranks */
    struct qmpi_statement_range *ranges; /* ascending, with gaps between them */
    int32_t range_count;
};

struct qmpi_statements {
    struct qmpi_statement *all; /* in the order of their lowest ranks */
    int32_t count;
};

/*
 * Exchanges `text`: collective over the processes that qmpi_presence_of finds, by messages on
 * `comm`. `rank` is the rank of this process in the job, which has `size` processes; in `comm`,
 * process i has the rank `places[i]`, or i if `places` is NULL. Called when neither this process
 * nor the others have begun to communicate on `comm`: at the end of MPI_Init, or when a
 * communicator of all processes has been made from a session. Where it is unknown which processes
 * take part, the wait for one that does not come is limited: it lasts `patience` seconds, times a
 * factor that depends on the tree of processes (see deadline_for in exchange.c). The result always
 * contains the statement of this process.
 */
void qmpi_statements_exchange(const char *text, int rank, int size, double patience, MPI_Comm comm,
                              const int *places, struct qmpi_statements *result);

/* The tag of these messages, the largest one that the standard guarantees. No process that takes
 * part has returned from MPI_Init, or from the call that made the communicator, so the program does
 * not use the tag at the same time. */
enum { QMPI_JOB_TAG = 32767 };

/* Returns the time in seconds, for deadlines. */
double qmpi_job_time(void);

/* Completes a request. Returns false if the request is not complete at `deadline`; if `deadline` is
 * 0, waits without limit. Sets *failed to whether a call of MPI failed, which also completes the
 * request. While this function waits, it yields the processor to other processes. */
bool qmpi_job_complete_request(MPI_Request *request, double deadline, bool *failed);

/* Whether a rank makes this statement. */
bool qmpi_statement_is_of(const struct qmpi_statement *statement, int rank);

/* Adds a rank to ranges in ascending order, of which it is the highest; there must be room for one
 * more range. */
void qmpi_statement_add_rank(struct qmpi_statement_range *ranges, int *count, int rank);

/* Returns a text such as "ranks 1, 3-5". The caller frees it. */
char *qmpi_statement_describe_ranks(const struct qmpi_statement_range *ranges, int count);

/* Frees the contents of `statements`. */
void qmpi_statements_free(struct qmpi_statements *statements);

/* Moves all statements of `other` to `statements`, and combines equal ones. */
void qmpi_statements_merge(struct qmpi_statements *statements, struct qmpi_statements *other);

#endif
