/* SPDX-License-Identifier: MIT */
/*
 * What a layer has learnt of the objects behind handles: names that the program gave them, the
 * names of files, how many processes a communicator has. Nothing is ever asked about a handle that
 * may be wrong: MPI would answer by the program's error handler, and the program would end in our
 * question instead of in its own call. Any thread; a call that interrupts the log's own work (see
 * toolkit/thread_state.h) does without, where the lock is taken.
 */
#ifndef QMPI_TOOL_LOG_OBJECTS_H
#define QMPI_TOOL_LOG_OBJECTS_H

#include "text.h"

#include <qmpi/observer.h>

#include <pthread.h>

struct objects {
    pthread_mutex_t lock;
    struct object *buckets[256];
    struct object *free;
};

/* Of a communicator. -1 where it has no such thing. */
struct processes {
    int local, peers; /* processes in its group; in the remote one, if it has one */
    int rank;
    bool is_inter;
    int indegree, outdegree; /* neighbors in a topology */
    int dimensions;
};

void objects_make(struct objects *objects);

/* The object behind the handle at `from` has this name from now on. */
void objects_name(struct objects *objects, QMPIX_Kind kind, const void *from, size_t size,
                  const char *name);

/* It was made by the function `maker`, whose name is constant. A handle that two functions give
 * without its being forgotten in between is shared, and gets none. */
void objects_made(struct objects *objects, QMPIX_Kind kind, const void *from, size_t size,
                  const char *maker);

/* It is about to be freed, or gone. */
void objects_forget(struct objects *objects, QMPIX_Kind kind, const void *from, size_t size);

/* Nothing is known any more: handles may have been freed unseen. */
void objects_forget_all(struct objects *objects);

/* Adds the name in quotes, or its maker, and an @. Adds nothing where none is known. */
void objects_add_name(struct objects *objects, struct text *text, QMPIX_Kind kind, const void *from,
                      size_t size);

/* Asks MPI about a communicator that a call has just succeeded with, once. */
void objects_meet(struct objects *objects, MPI_Comm comm);

/* False: it has not been met. */
bool objects_processes(struct objects *objects, MPI_Comm comm, struct processes *processes);

#endif
