/* SPDX-License-Identifier: MIT */
/* Exceptions and cancellation that pass the calls between layers (arch/jump_….S). */
#include "dispatch/arch/frame.h"
#include "dispatch/stubs.h"

#include <stdint.h>
#include <unwind.h>

/* The personality routine of over_X, which keeps the outer frame in a register that its caller
 * saved. */
_Unwind_Reason_Code qmpi_thunk_personality(int version, _Unwind_Action actions,
                                           _Unwind_Exception_Class class,
                                           struct _Unwind_Exception *exception,
                                           struct _Unwind_Context *context) QMPI_HIDDEN;

_Unwind_Reason_Code qmpi_thunk_personality(int version, _Unwind_Action actions,
                                           _Unwind_Exception_Class class,
                                           struct _Unwind_Exception *exception,
                                           struct _Unwind_Context *context)
{
    (void)version;
    (void)class;
    (void)exception;
    if (actions & _UA_CLEANUP_PHASE)
        qmpi_entry_frame =
            (const void *)(uintptr_t)_Unwind_GetGR(context, QMPI_THUNK_FRAME_REGISTER);
    return _URC_CONTINUE_UNWIND;
}
