/* SPDX-License-Identifier: MIT */
/* Numbers with a decimal point, read and written, whatever locale the application chose. */
#ifndef QMPI_TOOLKIT_LOCALE_NUMBERS_H
#define QMPI_TOOLKIT_LOCALE_NUMBERS_H

#include <locale.h>

struct tool_numbers {
    locale_t ours, before;
};

/* From here to tool_numbers_end, in this thread. */
void tool_numbers_begin(struct tool_numbers *numbers);
void tool_numbers_end(struct tool_numbers *numbers);

#endif
