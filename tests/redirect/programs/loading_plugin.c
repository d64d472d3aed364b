/* SPDX-License-Identifier: MIT */
/*
 * A library whose loading lasts as long as the program wants. While the loader binds references, it
 * calls an ifunc resolver of the library for `chosen`. One of the references is in memory that the
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
