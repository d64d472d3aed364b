/* SPDX-License-Identifier: MIT */
/*
 * The locks of libqmpi. In a forked child, a lock held by another thread of the parent would never
 * be released, so all locks are reinitialized there: see lock.c. Data that the other thread was
 * changing may be inconsistent in the child. Code that changes more than one pointer must handle
 * this.
 */
#ifndef QMPI_UTIL_LOCK_H
#define QMPI_UTIL_LOCK_H

#include <pthread.h>

/* Defines a lock that is used in one file. */
#define QMPI_LOCK(name) QMPI_LOCK_LIKE(name, PTHREAD_MUTEX_INITIALIZER, "qmpi_locks")

/* Defines a recursive lock. The file needs _GNU_SOURCE. */
#define QMPI_LOCK_RECURSIVE(name)                                                                  \
    QMPI_LOCK_LIKE(name, PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, "qmpi_recursive_locks")

#define QMPI_LOCK_LIKE(name, initial, list)                                                        \
    static pthread_mutex_t name = initial;                                                         \
    static pthread_mutex_t *const name##_listed __attribute__((section(list), used)) = &name

/* Installs the fork handler that reinitializes the locks in children. Called once, before libqmpi
 * starts threads. */
void qmpi_lock_start(void);

#endif
