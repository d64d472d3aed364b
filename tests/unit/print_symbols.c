/* SPDX-License-Identifier: MIT */
/* print_symbols [MODULE OFFSET]...: prints a line for each offset in a module, with the innermost
 * function and its file (`-` if unknown) and the number of the line (0 if unknown). */
#define _POSIX_C_SOURCE 200809L
#include "symbols/symbols.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        QMPIX_Frame *frames = NULL;
        const int count = symbols_find_in(argv[i], strtoull(argv[i + 1], NULL, 0), &frames);
        const QMPIX_Frame none = {.function = NULL}, *first = count ? frames : &none;
        printf("%s\t%s\t%d\n", first->function ? first->function : "-",
               first->file ? first->file : "-", first->line);
        for (int k = 0; k < count; k++) {
            free((void *)(uintptr_t)frames[k].function);
            free((void *)(uintptr_t)frames[k].file);
        }
        free(frames);
    }
    return 0;
}
