/* SPDX-License-Identifier: MIT */
/* Makes the program depend on libpmpihelper.so, which a tool also needs. The call only creates this
 * dependency: nothing has used the library before, so its count is 0. */
#include <stdlib.h>

int helper_count(void);

__attribute__((constructor)) static void use(void)
{
    if (helper_count() != 0)
        abort();
}
