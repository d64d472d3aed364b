/* SPDX-License-Identifier: MIT */
/* Intercepts every function and passes it on with QMPIX_NEXT. */
#include "announce.h"

#include <qmpi/qmpi.h>
#include <qmpi/wrappers.h>

#define WRAP(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS)                                             \
    static RESULT pass_##X PARAMETERS                                                              \
    {                                                                                              \
        return QMPIX_NEXT(context, X) ARGUMENTS;                                                   \
    }
QMPIX_FOR_EACH_FUNCTION(WRAP)

void bench_init(int tool_id)
{
#define REGISTER(RESULT, X, NUMBER, PARAMETERS, ARGUMENTS) QMPIX_REGISTER(tool_id, X, pass_##X);
    QMPIX_FOR_EACH_FUNCTION(REGISTER)
}
