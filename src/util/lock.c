/* SPDX-License-Identifier: MIT */
/* See lock.h. */
#define _GNU_SOURCE
#include "util/lock.h"

/* The linker defines these symbols for the sections. They are weak, because a program may have no
 * such locks. */
extern pthread_mutex_t *const locks_begin[] __asm__("__start_qmpi_locks")
    __attribute__((visibility("hidden"), weak));
extern pthread_mutex_t *const locks_end[] __asm__("__stop_qmpi_locks")
    __attribute__((visibility("hidden"), weak));

extern pthread_mutex_t *const recursive_begin[] __asm__("__start_qmpi_recursive_locks")
    __attribute__((visibility("hidden"), weak));
extern pthread_mutex_t *const recursive_end[] __asm__("__stop_qmpi_recursive_locks")
    __attribute__((visibility("hidden"), weak));

static void renew_locks(void)
{
    for (pthread_mutex_t *const *lock = locks_begin; lock != locks_end; lock++)
        **lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (pthread_mutex_t *const *lock = recursive_begin; lock != recursive_end; lock++)
        **lock = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

void qmpi_lock_start(void)
{
    pthread_atfork(NULL, NULL, renew_locks);
}
