/* SPDX-License-Identifier: MIT */
/*
 * Restores qmpi_dispatch_thread.entry when a call is left by an exception or by the cancellation of
 * its thread. longjmp, which does not restore it, records the frame that may have been left.
 */
#include "dispatch/node.h"
#include "util/util.h"

#include <stdint.h>
#include <stdlib.h>
#include <unwind.h>

_Thread_local struct qmpi_dispatch_thread qmpi_dispatch_thread;

/* The personality routine of the functions in assembly code that set qmpi_dispatch_thread.entry. */
_Unwind_Reason_Code qmpi_frame_personality(int version, _Unwind_Action actions,
                                           _Unwind_Exception_Class class,
                                           struct _Unwind_Exception *exception,
                                           struct _Unwind_Context *context) QMPI_HIDDEN;

_Unwind_Reason_Code qmpi_frame_personality(int version, _Unwind_Action actions,
                                           _Unwind_Exception_Class class,
                                           struct _Unwind_Exception *exception,
                                           struct _Unwind_Context *context)
{
    (void)version;
    (void)class;
    (void)exception;
    if (actions & _UA_CLEANUP_PHASE)
        qmpi_dispatch_thread.entry = qmpi_frame_outer(context);
    return _URC_CONTINUE_UNWIND;
}

/*
 * libqmpi.so exports longjmp and its variants (arch/jump_PROCESSOR.S): each sets
 * qmpi_dispatch_thread.jumped_frame and continues in the next library that defines the function:
 * the C library, or one that interposes it as well, such as that of a sanitizer. A jump out of a
 * call leaves qmpi_dispatch_thread.entry unchanged (see redirect/caller.h). In a static program,
 * these functions are the C library's own.
 */
#ifndef QMPI_STATIC
/* The next functions, in the same sequence as in arch/jump_PROCESSOR.S. Initially, the addresses
 * lead to code that calls qmpi_jump_resolve. Each thread that calls it stores the same functions,
 * which have existed since the process was started, so relaxed memory ordering would suffice. */
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
            abort(); /* every C library defines longjmp */
    }
}

/* Looking up symbols is not safe in a signal handler, which may be the first to call longjmp. */
__attribute__((constructor)) static void resolve_jumps_early(void)
{
    qmpi_jump_resolve();
}
#endif
