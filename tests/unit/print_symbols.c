/* SPDX-License-Identifier: MIT */
/* print_symbols MODULE OFFSET...: one line for each offset: function, file and line, or "-". All
 * modules are resolved in one call, as profile does it. */
#define _POSIX_C_SOURCE 200809L
#include "symbols/symbols.h"

#include "util/message.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    const size_t count = (size_t)argc / 2;
    struct profile_frame *frames = qmpi_allocate(count, sizeof *frames);
    struct profile_frame **all = qmpi_allocate(count, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        frames[i].module = argv[1 + 2 * i];
        frames[i].offset = strtoull(argv[2 + 2 * i], NULL, 0);
        all[i] = &frames[i];
    }
    profile_symbols_resolve(all, count);
    for (size_t i = 0; i < count; i++) {
        printf("%s\t%s\t%d\n", frames[i].function ? frames[i].function : "-",
               frames[i].file ? frames[i].file : "-", frames[i].line);
        free(frames[i].function);
        free(frames[i].file);
    }
    free(all);
    free(frames);
    return 0;
}
