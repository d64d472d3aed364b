/* SPDX-License-Identifier: MIT */
/*
 * This part stores what a layer knows about the objects behind handles: the names that the program
 * gave to them, the names of files, the functions that made requests, and the numbers of processes
 * of communicators. The log never asks MPI about a handle that may be invalid, because MPI would
 * call the program's error handler and the program would end in the log's query instead of in its
 * own call. Any thread may call these functions. A call that interrupts the log's own work (see
 * toolkit/thread_state.h) gets and stores no information if the lock is taken.
 */
#ifndef QMPI_TOOL_LOG_OBJECTS_H
#define QMPI_TOOL_LOG_OBJECTS_H

#include "tools/log/text.h"

#include <qmpi/observer.h>

#include <pthread.h>

struct objects {
    pthread_mutex_t lock;
    struct object **buckets; /* hash table by handle, which grows with `count` */
    size_t bucket_count, count;
    struct object *free;
};

/* Properties of a communicator. The last three are -1 if it does not have them. */
struct object_processes {
    /* The sizes of the local group and of the group of the peers, which is the remote group if
     * is_inter is true, and otherwise the local group. */
    int local, peers;
    int rank;
    bool is_inter;
    int indegree, outdegree; /* numbers of neighbors in its topology */
    int dimensions;
};

/* Initializes `objects`. Returns false if memory is exhausted. */
bool objects_make(struct objects *objects);

/* Gives the name `name` to the object behind the handle of `size` bytes at `from`. The name is
 * copied. An empty name removes the former one. */
void objects_name(struct objects *objects, QMPIX_Kind kind, const void *from, size_t size,
                  const char *name);

/* Records that the function `maker`, a string that must stay valid, made the object. If two
 * functions return the same handle and it was not forgotten in between, the handle is shared and is
 * shown without a maker. */
void objects_made(struct objects *objects, QMPIX_Kind kind, const void *from, size_t size,
                  const char *maker);

/* Forgets an object that is about to be freed or already gone, unless its handle is shared. */
void objects_forget(struct objects *objects, QMPIX_Kind kind, const void *from, size_t size);

/* Forgets all objects, because handles may have been freed while the log did not observe the
 * calls. */
void objects_forget_all(struct objects *objects);

/* Appends the name of the object in quotes, or else its maker, followed by an @. Appends nothing if
 * neither is known. */
void objects_add_name(struct objects *objects, struct text *text, QMPIX_Kind kind, const void *from,
                      size_t size);

/* Queries the properties of a communicator unless they are already known. The communicator must be
 * valid, which is certain if a call has just succeeded with it. */
void objects_meet(struct objects *objects, MPI_Comm comm);

/* Sets `*processes` to the properties that objects_meet has queried. Returns false if they are not
 * known. */
bool objects_processes(struct objects *objects, MPI_Comm comm, struct object_processes *processes);

#endif
