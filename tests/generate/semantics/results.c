/* SPDX-License-Identifier: MIT */
/* Prints what the readers of traces and profiles know about a function from its name. */
#include "tools/trace/analysis/collectives.c"
#include "tools/trace/profile/sums.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        QMPIX_Traits traits;
        char none[] = "";
        const struct trace_sums_role role =
            trace_sums_find_role(&(struct trace_function){.name = argv[i], .group = none});
        standard_find_traits(argv[i], &traits);
        printf("%s role=%d flags=%u flow=%d kind=%d waits=%d completes=%d polls=%d fetches=%d "
               "access=%d\n",
               argv[i], (int)traits.role, traits.flags, (int)traits.flow,
               (int)find_kind_of_function(argv[i]), role.may_wait, role.completes, role.polls,
               role.fetches, (int)traits.access);
    }
    return 0;
}
