/* SPDX-License-Identifier: MIT */
/* A library between a tool and the library helper.c: the tool needs that library only indirectly,
 * through this one. */
#include "functions.h"

int helper_count(void);
int JOINED(PREFIX, count)(void);
int JOINED(PREFIX, count)(void)
{
    return helper_count();
}

#define PASS(RESULT, X, PARAMETERS, ARGUMENTS)                                                     \
    RESULT helper_##X PARAMETERS;                                                                  \
    RESULT JOINED(PREFIX, X) PARAMETERS;                                                           \
    RESULT JOINED(PREFIX, X) PARAMETERS                                                            \
    {                                                                                              \
        return helper_##X ARGUMENTS;                                                               \
    }
FUNCTIONS(PASS)
