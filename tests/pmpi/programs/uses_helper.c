/* SPDX-License-Identifier: MIT */
/* Makes a program depend on the library that is the helper of a tool. */
#include <stdlib.h>

int helper_count(void);

__attribute__((constructor)) static void use(void)
{
    if (helper_count() != 0)
        abort();
}
