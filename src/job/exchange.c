/* SPDX-License-Identifier: MIT */
/*
 * Exchanges the statements of the processes (see statement.h). This file is separate from
 * statement.c, because the `qmpi` command uses that file without MPI.
 *
 * The ranks form a binomial tree: the parent of a rank is the rank without its lowest 1 bit, so
 * that a subtree is a range of ranks. Statements are merged on the way up, and the result is sent
 * down. Absent ranks are left out: their children report to the nearest ancestor that may be
 * present. If there is no such ancestor, they report to the lowest rank that may be present.
 */
#define _GNU_SOURCE
#include "job/presence.h"
#include "job/statement.h"
#include "process/process.h"
#include "util/util.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Lists of statements --------------------------------------------------------------------- */

void qmpi_statements_free(struct qmpi_statements *statements)
{
    for (int i = 0; i < statements->count; i++) {
        free(statements->all[i].text);
        free(statements->all[i].ranges);
    }
    free(statements->all);
    *statements = (struct qmpi_statements){0};
}

bool qmpi_statement_is_of(const struct qmpi_statement *statement, int rank)
{
    for (int i = 0; i < statement->range_count; i++) {
        if (rank >= statement->ranges[i].first && rank <= statement->ranges[i].last)
            return true;
    }
    return false;
}

static int compare_ranges(const void *one, const void *other)
{
    const struct qmpi_statement_range *a = one, *b = other;
    return (a->first > b->first) - (a->first < b->first);
}

static int compare_statements(const void *one, const void *other)
{
    const struct qmpi_statement *a = one, *b = other;
    return compare_ranges(a->ranges, b->ranges);
}

/* Adds the ranges of `other`, and copies the host of `other` if `other` has the lowest rank. */
static void add_ranges(struct qmpi_statement *statement, struct qmpi_statement *other)
{
    const size_t count = (size_t)statement->range_count + (size_t)other->range_count;
    struct qmpi_statement_range *ranges = qmpi_allocate(count, sizeof *ranges);
    memcpy(ranges, statement->ranges, (size_t)statement->range_count * sizeof *ranges);
    memcpy(ranges + statement->range_count, other->ranges,
           (size_t)other->range_count * sizeof *ranges);
    if (other->ranges[0].first < statement->ranges[0].first)
        memcpy(statement->host, other->host, sizeof statement->host);
    qsort(ranges, count, sizeof *ranges, compare_ranges);
    int last = 0;
    for (size_t i = 1; i < count; i++) {
        if (ranges[i].first == ranges[last].last + 1)
            ranges[last].last = ranges[i].last;
        else
            ranges[++last] = ranges[i];
    }
    free(statement->ranges);
    statement->ranges = ranges;
    statement->range_count = last + 1;
}

void qmpi_statements_merge(struct qmpi_statements *statements, struct qmpi_statements *other)
{
    for (int i = 0; i < other->count; i++) {
        struct qmpi_statement *new = &other->all[i], *same = NULL;
        for (int k = 0; k < statements->count && !same; k++) {
            if (!strcmp(statements->all[k].text, new->text))
                same = &statements->all[k];
        }
        if (same) {
            add_ranges(same, new);
            continue;
        }
        statements->all =
            qmpi_memory_grow(statements->all, statements->count, sizeof *statements->all);
        statements->all[statements->count++] = *new;
        new->text = NULL;
        new->ranges = NULL;
    }
    qmpi_statements_free(other);
    if (statements->count)
        qsort(statements->all, (size_t)statements->count, sizeof *statements->all,
              compare_statements);
}

void qmpi_statement_add_rank(struct qmpi_statement_range *ranges, int *count, int rank)
{
    if (*count && ranges[*count - 1].last == rank - 1)
        ranges[*count - 1].last = rank;
    else
        ranges[(*count)++] = (struct qmpi_statement_range){rank, rank};
}

char *qmpi_statement_describe_ranks(const struct qmpi_statement_range *ranges, int count)
{
    const bool one = count == 1 && ranges[0].first == ranges[0].last;
    char *text = qmpi_copy(one ? "rank " : "ranks ");
    for (int i = 0; i < count; i++) {
        char *more = ranges[i].first == ranges[i].last
                         ? qmpi_format("%s%s%d", text, i ? ", " : "", (int)ranges[i].first)
                         : qmpi_format("%s%s%d-%d", text, i ? ", " : "", (int)ranges[i].first,
                                       (int)ranges[i].last);
        free(text);
        text = more;
    }
    return text;
}

/* ---- Packing --------------------------------------------------------------------------------- */

struct bytes {
    char *data;
    size_t size, room;
};

static void put_bytes(struct bytes *bytes, const void *data, size_t size)
{
    if (!QMPI_MEMORY_RESERVE(bytes->data, bytes->room, bytes->size + size))
        qmpi_memory_exhausted();
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
}

static struct bytes pack_statements(const struct qmpi_statements *statements)
{
    struct bytes bytes = {0};
    put_bytes(&bytes, &statements->count, sizeof statements->count);
    for (int i = 0; i < statements->count; i++) {
        const struct qmpi_statement *statement = &statements->all[i];
        const int32_t length = (int32_t)strlen(statement->text) + 1;
        put_bytes(&bytes, statement->host, sizeof statement->host);
        put_bytes(&bytes, &statement->range_count, sizeof statement->range_count);
        put_bytes(&bytes, statement->ranges,
                  (size_t)statement->range_count * sizeof *statement->ranges);
        put_bytes(&bytes, &length, sizeof length);
        put_bytes(&bytes, statement->text, (size_t)length);
    }
    return bytes;
}

static void take_bytes(const char **at, void *data, size_t size)
{
    memcpy(data, *at, size);
    *at += size;
}

static struct qmpi_statements unpack_statements(const char *at)
{
    struct qmpi_statements statements = {0};
    take_bytes(&at, &statements.count, sizeof statements.count);
    statements.all = qmpi_allocate((size_t)statements.count, sizeof *statements.all);
    for (int i = 0; i < statements.count; i++) {
        struct qmpi_statement *statement = &statements.all[i];
        int32_t length;
        take_bytes(&at, statement->host, sizeof statement->host);
        take_bytes(&at, &statement->range_count, sizeof statement->range_count);
        statement->ranges =
            qmpi_allocate((size_t)statement->range_count, sizeof *statement->ranges);
        take_bytes(&at, statement->ranges,
                   (size_t)statement->range_count * sizeof *statement->ranges);
        take_bytes(&at, &length, sizeof length);
        statement->text = qmpi_allocate((size_t)length, 1);
        take_bytes(&at, statement->text, (size_t)length);
    }
    return statements;
}

/* ---- Messages -------------------------------------------------------------------------------- */

double qmpi_job_time(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

bool qmpi_job_complete_request(MPI_Request *request, double deadline, bool *failed)
{
    int done = 0;
    *failed = false;
    for (int tries = 0; !done; tries++) {
        if (QMPI_PMPI(Test, TEST)(request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
            *request = MPI_REQUEST_NULL;
            *failed = true;
            break;
        }
        if (done)
            break;
        if (deadline > 0 && qmpi_job_time() > deadline)
            return false;
        if (tries < 1000)
            sched_yield();
        else
            usleep(200);
    }
    return true;
}

/* The communicator that carries the messages, and the rank of each process in it. */
struct channel {
    MPI_Comm comm;
    const int *places; /* NULL: equal to the ranks in the job */
};

static int rank_in_channel(const struct channel *channel, int rank)
{
    return channel->places ? channel->places[rank] : rank;
}

static void send_to(const struct channel *channel, int rank, const struct bytes *bytes,
                    double deadline)
{
    const int to = rank_in_channel(channel, rank);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    bool failed;
    unsigned long long size = bytes->size;
    QMPI_PMPI(Isend, ISEND)
    (&size, 1, MPI_UNSIGNED_LONG_LONG, to, QMPI_JOB_TAG, channel->comm, &requests[0]);
    QMPI_PMPI(Isend, ISEND)
    (bytes->data, (int)bytes->size, MPI_BYTE, to, QMPI_JOB_TAG, channel->comm, &requests[1]);
    for (int i = 0; i < 2; i++) {
        if (!qmpi_job_complete_request(&requests[i], deadline, &failed)) {
            QMPI_PMPI(Cancel, CANCEL)(&requests[i]);
            QMPI_PMPI(Request_free, REQUEST_FREE)(&requests[i]);
        }
    }
}

/* Returns the received bytes, which the caller frees. NULL: nothing has arrived by the deadline, a
 * call of MPI has failed, or the message is empty. */
static char *receive_from(const struct channel *channel, int rank, double deadline)
{
    const int from = rank_in_channel(channel, rank);
    MPI_Request request = MPI_REQUEST_NULL;
    unsigned long long size = 0;
    bool failed;
    QMPI_PMPI(Irecv, IRECV)
    (&size, 1, MPI_UNSIGNED_LONG_LONG, from, QMPI_JOB_TAG, channel->comm, &request);
    if (!qmpi_job_complete_request(&request, deadline, &failed)) {
        QMPI_PMPI(Cancel, CANCEL)(&request);
        QMPI_PMPI(Wait, WAIT)(&request, MPI_STATUS_IGNORE);
        return NULL;
    }
    if (failed || !size)
        return NULL;
    char *data = qmpi_allocate((size_t)size, 1);
    QMPI_PMPI(Irecv, IRECV)
    (data, (int)size, MPI_BYTE, from, QMPI_JOB_TAG, channel->comm, &request);
    qmpi_job_complete_request(&request, 0, &failed);
    if (failed) {
        free(data);
        return NULL;
    }
    return data;
}

/* ---- The tree -------------------------------------------------------------------------------- */

struct tree {
    int rank, size;
    double patience;
    signed char *presence; /* [size]: enum qmpi_presence; -1: not asked yet */
    int *children;         /* the ranks that report to this one */
    int child_count;
};

static enum qmpi_presence presence_in(struct tree *tree, int rank)
{
    if (tree->presence[rank] < 0)
        tree->presence[rank] =
            (signed char)(rank == tree->rank ? QMPI_PRESENCE_PRESENT : qmpi_presence_of(rank));
    return (enum qmpi_presence)tree->presence[rank];
}

static int parent_of(int rank)
{
    return rank & (rank - 1);
}

static void visit_subtree(struct tree *tree, int rank, void (*found)(struct tree *tree, int rank));

/* Visits the children of a rank, in ascending order. */
static void visit_children(struct tree *tree, int rank, void (*found)(struct tree *tree, int rank))
{
    const long low = rank ? rank & -rank : tree->size;
    for (long bit = 1; bit < low && rank + bit < tree->size; bit *= 2)
        visit_subtree(tree, rank + (int)bit, found);
}

/* Calls `found` for the rank if it may be present, otherwise for the nearest such ranks in its
 * subtree. */
static void visit_subtree(struct tree *tree, int rank, void (*found)(struct tree *tree, int rank))
{
    if (presence_in(tree, rank) != QMPI_PRESENCE_ABSENT)
        found(tree, rank);
    else
        visit_children(tree, rank, found);
}

static void add_child(struct tree *tree, int rank)
{
    if (rank != tree->rank)
        tree->children[tree->child_count++] = rank;
}

/* Returns the rank to which this one reports; -1: none, because this rank is the root. */
static int find_parent(struct tree *tree)
{
    int rank = tree->rank;
    while (rank) {
        rank = parent_of(rank);
        if (presence_in(tree, rank) != QMPI_PRESENCE_ABSENT)
            return rank;
    }
    if (tree->rank == 0)
        return -1;
    int lowest = 1; /* rank 0 is absent */
    while (lowest < tree->rank && presence_in(tree, lowest) == QMPI_PRESENCE_ABSENT)
        lowest++;
    return lowest < tree->rank ? lowest : -1;
}

/* Returns the deadline for messages from and to a rank; 0: none, because the rank is known to take
 * part. Any other rank may itself be waiting for others, so the time grows with each level of the
 * tree. */
static double deadline_for(struct tree *tree, int rank)
{
    double levels = 1;
    for (int other = rank; other && other > tree->rank; other = parent_of(other))
        levels = (double)__builtin_ctz((unsigned)other) + 1;
    if (rank <= tree->rank) { /* the parent waits for its children one after the other: their levels
                                 add up */
        int height = 1;
        while (height < 31 && 1L << height < tree->size)
            height++;
        levels = height < 8 ? 1 + height * (height + 1) / 2 : 34;
    }
    return presence_in(tree, rank) == QMPI_PRESENCE_PRESENT
               ? 0
               : qmpi_job_time() + levels * tree->patience;
}

static void find_children(struct tree *tree, int parent)
{
    tree->children = qmpi_allocate((size_t)tree->size, sizeof *tree->children);
    visit_children(tree, tree->rank, add_child);
    /* Rank 0 is absent, and this is the lowest rank that may be present. All ranks without an
     * ancestor that may be present report to this one. */
    if (parent < 0 && tree->rank)
        visit_children(tree, 0, add_child);
}

/* ---- Up and down ----------------------------------------------------------------------------- */

static struct qmpi_statements make_statement(const char *text, int rank)
{
    struct qmpi_statement *statement = qmpi_allocate(1, sizeof *statement);
    statement->text = qmpi_copy(text);
    gethostname(statement->host, sizeof statement->host - 1);
    statement->ranges = qmpi_allocate(1, sizeof *statement->ranges);
    statement->ranges[0] = (struct qmpi_statement_range){rank, rank};
    statement->range_count = 1;
    return (struct qmpi_statements){statement, 1};
}

void qmpi_statements_exchange(const char *text, int rank, int size, double patience, MPI_Comm comm,
                              const int *places, struct qmpi_statements *result)
{
    const struct channel channel = {comm, places};
    struct tree tree = {rank, size, patience, qmpi_allocate((size_t)size, 1), NULL, 0};
    memset(tree.presence, -1, (size_t)size);
    const int parent = find_parent(&tree);
    find_children(&tree, parent);
    *result = make_statement(text, rank);
    for (int i = 0; i < tree.child_count; i++) {
        char *data =
            receive_from(&channel, tree.children[i], deadline_for(&tree, tree.children[i]));
        tree.presence[tree.children[i]] = data ? QMPI_PRESENCE_PRESENT : QMPI_PRESENCE_ABSENT;
        struct qmpi_statements received =
            data ? unpack_statements(data) : (struct qmpi_statements){0};
        qmpi_statements_merge(result, &received);
        free(data);
    }
    if (parent >= 0) {
        const double until = deadline_for(&tree, parent);
        struct bytes bytes = pack_statements(result);
        send_to(&channel, parent, &bytes, until);
        free(bytes.data);
        char *data = receive_from(&channel, parent, until);
        if (data) {
            qmpi_statements_free(result);
            *result = unpack_statements(data);
        }
        free(data);
    }
    struct bytes bytes = pack_statements(result);
    for (int i = 0; i < tree.child_count; i++) {
        if (tree.presence[tree.children[i]] == QMPI_PRESENCE_PRESENT)
            send_to(&channel, tree.children[i], &bytes, 0);
    }
    free(bytes.data);
    free(tree.children);
    free(tree.presence);
}
