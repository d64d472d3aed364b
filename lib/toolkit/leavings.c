/* SPDX-License-Identifier: MIT */
/* See leavings.h. */
#include "toolkit/leavings.h"

#include <stddef.h>

void leavings_add(struct leavings *leavings, const struct leaving *leaving)
{
    /* The stack grows downwards: calls with a lower word were left by a jump. */
    while (leavings->count &&
           (uintptr_t)leavings->all[leavings->count - 1].word <= (uintptr_t)leaving->word)
        leavings->count--;
    if (leaving->number >= 0 && leavings->count < LEAVINGS_MAX)
        leavings->all[leavings->count++] = *leaving;
}

struct leaving *leavings_find(struct leavings *leavings, const QMPIX_Word *word)
{
    for (int i = leavings->count; i > 0; i--) {
        if (leavings->all[i - 1].word == word)
            return &leavings->all[i - 1];
    }
    return NULL;
}

void leavings_end(struct leavings *leavings, const struct leaving *leaving)
{
    leavings->count = (int)(leaving - leavings->all);
}
