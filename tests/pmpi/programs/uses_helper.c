/* SPDX-License-Identifier: MIT */
/* Makes the program depend on libpmpihelper.so, which a tool also needs, and checks that the
 * program's copy of it was not used. */
#include <stdlib.h>

int helper_count(void);

__attribute__((constructor)) static void use(void)
{
    if (helper_count() != 0)
        abort();
}
