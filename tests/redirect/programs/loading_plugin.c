/* SPDX-License-Identifier: MIT */
/*
 * A library whose loading lasts as long as the program wants. While the loader binds references, it
 * calls `choose`, the ifunc resolver of `chosen`, which waits for the program. The references in
 * `table` are in memory that the loader makes read-only after it has bound all references.
 */
#include "loading.h"

static int first(void)
{
    return 1;
}

static int (*choose(void))(void)
{
    atomic_store(&LOADING->began, 1);
    while (!atomic_load(&LOADING->go_on))
        continue;
    return first;
}

int chosen(void) __attribute__((ifunc("choose")));
int loaded(void);

/* Read-only after relocation. */
static int (*const table[])(void) = {chosen, loaded};

int loaded(void)
{
    return table[0]();
}
