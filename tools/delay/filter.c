/* SPDX-License-Identifier: MIT */
/* See filter.h. */
#define _GNU_SOURCE
#include "filter.h"

#include "toolkit/toolkit.h"
#include "util/util.h"

#include <qmpi/observer.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* These cannot sensibly fail: they initialize or finalize MPI, or do not return an error code. */
static const char *const never[] = {
    "MPI_Abort",
    "MPI_Finalize",
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Pcontrol",
    "MPIX_Query_cuda_support",
    "MPIX_Query_ze_support",
    "MPIX_Query_hip_support",
    NULL,
};

/* With these a program handles its errors: they fail where they are named in full. */
static const char *const reserved[] = {
    "MPI_Error_class",          "MPI_Error_string",        "MPI_Comm_call_errhandler",
    "MPI_File_call_errhandler", "MPI_Win_call_errhandler", "MPI_Session_call_errhandler",
    "MPI_Initialized",          "MPI_Finalized",           NULL,
};

static bool is_among(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

static bool can_fail(const QMPIX_Function *function)
{
    return function->result == QMPIX_KIND_INT && !is_among(function->name, never);
}

static const QMPIX_Function *described(int number)
{
    const QMPIX_Function *function = NULL;
    QMPIX_Function_describe((enum QMPI_Functions_enum)number, &function);
    return function;
}

static char *read_list(const char *list, unsigned char does[MPI_LAST_FUNC])
{
    unsigned char listed[MPI_LAST_FUNC];
    char *item = tool_functions_read(list ? list : "*", listed);
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        does[number] = listed[number] & QMPI_FUNCTION_LISTED ? RULE_ACTS : 0;
        if (listed[number] & QMPI_FUNCTION_NAMED)
            does[number] |= RULE_NAMED;
    }
    char *problem = item && *item ? qmpi_function_list_refuse("functions=", item) : NULL;
    free(item);
    return problem;
}

char *choose_functions(const char *list, bool fails, unsigned char does[MPI_LAST_FUNC])
{
    char *problem = read_list(list, does);
    int acting = 0, failing = 0;
    for (int number = 0; number < MPI_LAST_FUNC && !problem; number++) {
        const QMPIX_Function *function = does[number] ? described(number) : NULL;
        if (!function)
            continue;
        acting++;
        const bool named = does[number] & RULE_NAMED;
        if (fails && named && !can_fail(function))
            problem = qmpi_message("%s can be delayed, but cannot fail\n"
                                   "hint: remove it from functions=, or remove error=",
                                   function->name);
        if (fails && can_fail(function) && (named || !is_among(function->name, reserved))) {
            does[number] |= RULE_FAILS;
            failing++;
        }
    }
    if (!problem && (!acting || (fails && !failing)))
        problem = qmpi_message("functions= selects no function to %s\n"
                               "hint: name some functions, or remove the option to select all",
                               acting ? "fail" : "act on");
    return problem;
}

/* ---- Error classes --------------------------------------------------------------------------- */

#define ERROR(NAME)                                                                                \
    {                                                                                              \
#NAME, NAME                                                                                \
    }
static const struct {
    const char *name;
    int error;
} errors[] = {
    ERROR(MPI_ERR_BUFFER),
    ERROR(MPI_ERR_COUNT),
    ERROR(MPI_ERR_TYPE),
    ERROR(MPI_ERR_TAG),
    ERROR(MPI_ERR_COMM),
    ERROR(MPI_ERR_RANK),
    ERROR(MPI_ERR_REQUEST),
    ERROR(MPI_ERR_ROOT),
    ERROR(MPI_ERR_GROUP),
    ERROR(MPI_ERR_OP),
    ERROR(MPI_ERR_TOPOLOGY),
    ERROR(MPI_ERR_DIMS),
    ERROR(MPI_ERR_ARG),
    ERROR(MPI_ERR_UNKNOWN),
    ERROR(MPI_ERR_TRUNCATE),
    ERROR(MPI_ERR_OTHER),
    ERROR(MPI_ERR_INTERN),
    ERROR(MPI_ERR_IN_STATUS),
    ERROR(MPI_ERR_PENDING),
    ERROR(MPI_ERR_ACCESS),
    ERROR(MPI_ERR_AMODE),
    ERROR(MPI_ERR_ASSERT),
    ERROR(MPI_ERR_BAD_FILE),
    ERROR(MPI_ERR_BASE),
    ERROR(MPI_ERR_CONVERSION),
    ERROR(MPI_ERR_DISP),
    ERROR(MPI_ERR_DUP_DATAREP),
    ERROR(MPI_ERR_FILE_EXISTS),
    ERROR(MPI_ERR_FILE_IN_USE),
    ERROR(MPI_ERR_FILE),
    ERROR(MPI_ERR_INFO_KEY),
    ERROR(MPI_ERR_INFO_NOKEY),
    ERROR(MPI_ERR_INFO_VALUE),
    ERROR(MPI_ERR_INFO),
    ERROR(MPI_ERR_IO),
    ERROR(MPI_ERR_KEYVAL),
    ERROR(MPI_ERR_LOCKTYPE),
    ERROR(MPI_ERR_NAME),
    ERROR(MPI_ERR_NO_MEM),
    ERROR(MPI_ERR_NOT_SAME),
    ERROR(MPI_ERR_NO_SPACE),
    ERROR(MPI_ERR_NO_SUCH_FILE),
    ERROR(MPI_ERR_PORT),
    ERROR(MPI_ERR_QUOTA),
    ERROR(MPI_ERR_READ_ONLY),
    ERROR(MPI_ERR_RMA_ATTACH),
    ERROR(MPI_ERR_RMA_CONFLICT),
    ERROR(MPI_ERR_RMA_RANGE),
    ERROR(MPI_ERR_RMA_SHARED),
    ERROR(MPI_ERR_RMA_SYNC),
    ERROR(MPI_ERR_RMA_FLAVOR),
    ERROR(MPI_ERR_SERVICE),
    ERROR(MPI_ERR_SIZE),
    ERROR(MPI_ERR_SPAWN),
    ERROR(MPI_ERR_UNSUPPORTED_DATAREP),
    ERROR(MPI_ERR_UNSUPPORTED_OPERATION),
    ERROR(MPI_ERR_WIN),
#ifdef MPI_ERR_PROC_ABORTED
    ERROR(MPI_ERR_PROC_ABORTED),
#endif
#ifdef MPI_ERR_SESSION
    ERROR(MPI_ERR_SESSION),
#endif
#ifdef MPI_ERR_VALUE_TOO_LARGE
    ERROR(MPI_ERR_VALUE_TOO_LARGE),
#endif
#ifdef MPIX_ERR_PROC_FAILED
    ERROR(MPIX_ERR_PROC_FAILED),
    ERROR(MPIX_ERR_PROC_FAILED_PENDING),
    ERROR(MPIX_ERR_REVOKED),
#endif
    ERROR(MPI_T_ERR_CANNOT_INIT),
    ERROR(MPI_T_ERR_NOT_INITIALIZED),
    ERROR(MPI_T_ERR_MEMORY),
    ERROR(MPI_T_ERR_INVALID),
    ERROR(MPI_T_ERR_INVALID_INDEX),
    ERROR(MPI_T_ERR_INVALID_NAME),
    ERROR(MPI_T_ERR_INVALID_HANDLE),
    ERROR(MPI_T_ERR_INVALID_SESSION),
    ERROR(MPI_T_ERR_OUT_OF_HANDLES),
    ERROR(MPI_T_ERR_OUT_OF_SESSIONS),
    ERROR(MPI_T_ERR_CVAR_SET_NOT_NOW),
    ERROR(MPI_T_ERR_CVAR_SET_NEVER),
    ERROR(MPI_T_ERR_PVAR_NO_STARTSTOP),
    ERROR(MPI_T_ERR_PVAR_NO_WRITE),
    ERROR(MPI_T_ERR_PVAR_NO_ATOMIC),
#ifdef MPI_T_ERR_NOT_SUPPORTED
    ERROR(MPI_T_ERR_NOT_SUPPORTED),
#endif
};

bool choose_error(const char *text, int *error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (!strcmp(text, errors[i].name)) {
            *error = errors[i].error;
            return true;
        }
    }
    char *end;
    errno = 0;
    const long number = strtol(text, &end, 10);
    *error = (int)number;
    return *text >= '0' && *text <= '9' && !*end && !errno && number > MPI_SUCCESS &&
           number <= MPI_ERR_LASTCODE;
}
