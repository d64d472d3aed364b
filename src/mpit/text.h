/* SPDX-License-Identifier: MIT */
/* The convention for strings of MPI_T: MPI 4.0, section 15.3.3 "Convention for Returning Strings".
 */
#ifndef QMPI_MPIT_TEXT_H
#define QMPI_MPIT_TEXT_H

#include <string.h>

/*
 * On entry, `*length` is the size of `buffer`; on return, it is the size of the whole string with
 * its terminating null character. If `length` is NULL, nothing is returned; if there is no buffer,
 * or its size is 0, only the length.
 */
static inline void qmpi_mpit_give_text(const char *text, char *buffer, int *length)
{
    if (!length)
        return;
    const size_t whole = strlen(text) + 1;
    if (buffer && *length > 0) {
        const size_t given = whole <= (size_t)*length ? whole : (size_t)*length;
        memcpy(buffer, text, given - 1);
        buffer[given - 1] = '\0';
    }
    *length = (int)whole;
}

#endif
