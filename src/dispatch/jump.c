/* SPDX-License-Identifier: MIT */
/*
 * longjmp and its like, exported: each notes in which call of this thread it was made, and goes on
 * to the C library's. See redirect/caller.h: who jumps out of a call leaves qmpi_entry_frame as it
 * was.
 */
#include "dispatch/chain.h"
#include "util/util.h"

#include <stdint.h>
#include <stdlib.h>

/* As arch/jump_NAME.S has them. At first they lead there, to where qmpi_jump_resolve is called.
 */
extern qmpi_function *qmpi_real_jumps[4] QMPI_HIDDEN;
void qmpi_jump_resolve(void) QMPI_HIDDEN;

void qmpi_jump_resolve(void)
{
    static const char *const names[] = {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        qmpi_function *found = (qmpi_function *)(uintptr_t)qmpi_next_symbol(names[i]);
        if (found)
            __atomic_store_n(&qmpi_real_jumps[i], found, __ATOMIC_RELEASE);
        else if (i == 0)
            abort(); /* there is no C library without it */
    }
}

/* A signal handler may be the first that jumps: it must find them resolved. */
__attribute__((constructor)) static void begin(void)
{
    qmpi_jump_resolve();
}
