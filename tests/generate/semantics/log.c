/* SPDX-License-Identifier: MIT */
/* Prints how the tool log shows the arguments of MPI functions: of each argument, the direction,
 * the constants, the kind of length, and the argument that the length depends on. */
#include "function.h"

#include "tools/log/shape.c"

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const struct shape *shape = shape_of(find_function(argv[i]));
        printf("%s request=%d flag=%d", argv[i], shape->request, shape->flag);
        for (int k = 0; k < shape->count; k++)
            printf(" %d/%d/%d/%d", shape->shown[k].direction, shape->shown[k].constants,
                   shape->shown[k].length, shape->shown[k].of);
        printf("\n");
    }
    return 0;
}
