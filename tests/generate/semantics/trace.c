/* SPDX-License-Identifier: MIT */
/* Prints, for each function that the command line names, what the tool trace does in its calls (as
 * a number of enum trait_action), and which arguments of these calls it uses. */
#include "function.h"

#include "tools/trace/record/traits.c"

int main(int argc, char **argv)
{
    traits_find();
    for (int i = 1; i < argc; i++) {
        const struct traits *traits = &traits_all[find_function(argv[i])->number];
        printf(
            "%s action=%d comm=%d window=%d file=%d request=%d created=%d requests=%d index=%d\n",
            argv[i], traits->action, traits->comm, traits->window, traits->file, traits->request,
            traits->created, traits->completion.count, traits->completion.index);
    }
    return 0;
}
