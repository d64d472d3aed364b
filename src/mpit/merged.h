/* SPDX-License-Identifier: MIT */
/*
 * The merged functions, except those in library.h. Each has the signature of its MPI_T_X, whose
 * terminator calls it instead of the function of the MPI library. Merged functions handle published
 * items themselves, and pass calls for all other items to the library.
 */
#ifndef QMPI_MPIT_MERGED_H
#define QMPI_MPIT_MERGED_H

#include <mpi.h>
#include <string.h>

/* Declares qmpi_mpit_x with the type of MPI_T_x. */
#define QMPI_MPIT_DECLARE(x) __typeof__(MPI_T_##x) qmpi_mpit_##x

QMPI_MPIT_DECLARE(enum_get_info);
QMPI_MPIT_DECLARE(enum_get_item);

QMPI_MPIT_DECLARE(cvar_get_num);
QMPI_MPIT_DECLARE(cvar_get_info);
QMPI_MPIT_DECLARE(cvar_get_index);
QMPI_MPIT_DECLARE(cvar_handle_alloc);
QMPI_MPIT_DECLARE(cvar_handle_free);
QMPI_MPIT_DECLARE(cvar_read);
QMPI_MPIT_DECLARE(cvar_write);

QMPI_MPIT_DECLARE(pvar_get_num);
QMPI_MPIT_DECLARE(pvar_get_info);
QMPI_MPIT_DECLARE(pvar_get_index);
QMPI_MPIT_DECLARE(pvar_session_create);
QMPI_MPIT_DECLARE(pvar_session_free);
QMPI_MPIT_DECLARE(pvar_handle_alloc);
QMPI_MPIT_DECLARE(pvar_handle_free);
QMPI_MPIT_DECLARE(pvar_start);
QMPI_MPIT_DECLARE(pvar_stop);
QMPI_MPIT_DECLARE(pvar_read);
QMPI_MPIT_DECLARE(pvar_write);
QMPI_MPIT_DECLARE(pvar_reset);
QMPI_MPIT_DECLARE(pvar_readreset);

QMPI_MPIT_DECLARE(category_changed);
QMPI_MPIT_DECLARE(category_get_num);
QMPI_MPIT_DECLARE(category_get_info);
QMPI_MPIT_DECLARE(category_get_index);
QMPI_MPIT_DECLARE(category_get_cvars);
QMPI_MPIT_DECLARE(category_get_pvars);
QMPI_MPIT_DECLARE(category_get_categories);

/* Since MPI 4.0: events, which only the library has. */
#if MPI_VERSION >= 4
QMPI_MPIT_DECLARE(category_get_num_events);
QMPI_MPIT_DECLARE(category_get_events);
QMPI_MPIT_DECLARE(event_get_num);
QMPI_MPIT_DECLARE(event_get_info);
QMPI_MPIT_DECLARE(event_get_index);
QMPI_MPIT_DECLARE(event_handle_alloc);
QMPI_MPIT_DECLARE(source_get_num);
QMPI_MPIT_DECLARE(source_get_info);
QMPI_MPIT_DECLARE(source_get_timestamp);
#endif

/*
 * Returns a string by the convention of MPI 4.0, section 15.3.3 "Convention for Returning Strings".
 * On entry, `*length` is the size of `buffer`; on return, it is the size of the whole string with
 * its terminating null character. If `length` is NULL, nothing is returned; if there is no buffer,
 * or its size is 0, only the size is returned.
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
