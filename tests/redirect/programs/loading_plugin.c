/* SPDX-License-Identifier: MIT */
/*
 * A library that is being loaded for as long as its program wants: the loader asks it which
 * function `chosen` is in the midst of binding its references, one of which is in memory that the
 * loader makes read-only when all are bound.
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
