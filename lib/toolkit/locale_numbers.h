/* SPDX-License-Identifier: MIT */
/* Reads and writes numbers with a decimal point in any locale of the application. */
#ifndef QMPI_TOOLKIT_LOCALE_NUMBERS_H
#define QMPI_TOOLKIT_LOCALE_NUMBERS_H

/* Each is a locale_t, which <locale.h> declares only on request. */
struct tool_numbers {
    void *ours, *before;
};

/* Takes effect until tool_numbers_end, in this thread. */
void tool_numbers_begin(struct tool_numbers *numbers);
void tool_numbers_end(struct tool_numbers *numbers);

#endif
