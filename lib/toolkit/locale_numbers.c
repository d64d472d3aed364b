/* SPDX-License-Identifier: MIT */
/* See locale_numbers.h. */
#define _GNU_SOURCE
#include "toolkit/locale_numbers.h"

#include <locale.h>

/* On top of the present one: messages stay in the application's language. */
void tool_numbers_begin(struct tool_numbers *numbers)
{
    const locale_t copy = duplocale(uselocale((locale_t)0));
    numbers->ours = copy ? newlocale(LC_NUMERIC_MASK, "C", copy) : (locale_t)0;
    if (copy && !numbers->ours)
        freelocale(copy);
    if (numbers->ours)
        numbers->before = uselocale(numbers->ours);
}

void tool_numbers_end(struct tool_numbers *numbers)
{
    if (!numbers->ours)
        return;
    uselocale(numbers->before);
    freelocale(numbers->ours);
}
