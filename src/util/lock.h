/* SPDX-License-Identifier: MIT */
/*
 * The library's locks. In a forked child those of threads that were not forked would stay held for
 * ever, so all of them are made new there: see lock.c. What such a thread was changing may be half
 * changed in the child; whoever changes more than one pointer at a time looks after that.
 */
#ifndef QMPI_UTIL_LOCK_H
#define QMPI_UTIL_LOCK_H

#include <pthread.h>

/* Defines a lock of one file. */
#define QMPI_LOCK(name) QMPI_LOCK_LIKE(name, PTHREAD_MUTEX_INITIALIZER, "qmpi_locks")

/* One that a thread may take again that has it. Its file needs _GNU_SOURCE. */
#define QMPI_LOCK_RECURSIVE(name)                                                                  \
    QMPI_LOCK_LIKE(name, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, "qmpi_recursive_locks")

#define QMPI_LOCK_LIKE(name, initial, list)                                                        \
    static pthread_mutex_t name = initial;                                                         \
    static pthread_mutex_t *const name##_listed __attribute__((section(list), used)) = &name

/* Once, before the process makes threads of ours: forked children have free locks from then on. */
void qmpi_lock_start(void);

#endif
