/* SPDX-License-Identifier: MIT */
/* Prints what the tool profile counts in calls of the functions that the arguments name. */
#include "function.h"

#include "tools/profile/record/traits.c"

int main(int argc, char **argv)
{
    traits_find();
    for (int i = 1; i < argc; i++) {
        const struct traits *traits = &traits_all[find_function(argv[i])->number];
        printf("%s transfers=%d bytes=%d waits=%d polls=%d receives=%d sends=%d comm=%d file=%d "
               "source=%d destination=%d\n",
               argv[i], traits->has_transfers, traits->has_bytes, traits->waits, traits->polls,
               traits->receives, traits->sends, traits->comm, traits->file, traits->awaited.source,
               traits->awaited.destination);
    }
    return 0;
}
