/* SPDX-License-Identifier: MIT */
/* The handles and addresses that mpi.h has names for. */
#ifndef QMPI_TOOL_LOG_HANDLES_H
#define QMPI_TOOL_LOG_HANDLES_H

#include <qmpi/observer.h>

#include <stdbool.h>

/* The name of the handle at `from`; NULL: it has none there. */
const char *handles_name(QMPIX_Kind kind, const void *from, size_t size);

/* Whether it is MPI_COMM_NULL, MPI_REQUEST_NULL and so on. */
bool handles_is_null(QMPIX_Kind kind, const void *from, size_t size);

/* What an address that a parameter gives may mean besides. */
enum address {
    ADDRESS_PLAIN,
    ADDRESS_BUFFER,     /* of a message: NULL is MPI_BOTTOM */
    ADDRESS_COLLECTIVE, /* the same, or MPI_IN_PLACE */
    ADDRESS_FUNCTION,
    ADDRESS_STATUS,
    ADDRESS_STATUSES,
    ADDRESS_WEIGHTS,
    ADDRESS_ERRCODES,
    ADDRESS_ARGV
};
enum address handles_address_kind(const QMPIX_Parameter *parameter);

/* The name of an address that a function is given in place of an array or a buffer; NULL: it has
 * none. */
const char *handles_address(enum address kind, const QMPIX_Parameter *parameter,
                            const void *address);

#endif
