/* SPDX-License-Identifier: MIT */
/*
 * MPICH's variant of QMPI: the older draft that MPICH's mpi.h declares. Its interceptors receive a
 * context of one pointer, which has no meaning here, and the tool_id of the layer. A tool queries
 * the next function together with its tool_id, and passes both on. Chains may contain layers of
 * both kinds: each node can be called in both ways, and one of its two functions is the interceptor
 * of the tool.
 */
#ifndef QMPI_MPICH_MPICH_H
#define QMPI_MPICH_MPICH_H

#include "dispatch/dispatch.h"

/* The text of an address, as 0x and hexadecimal digits. */
struct qmpi_mpich_address {
    const void *address;
    char text[2 + 2 * sizeof(void *) + 1];
};

/*
 * Returns the text of an address: always the same object for the same address, which exists for the
 * whole run and never changes. In address_text.c. Any thread; takes no lock, so it may be called in
 * a signal handler, even if the handler interrupts it.
 */
const struct qmpi_mpich_address *qmpi_mpich_address(const void *address);

/*
 * Redirects all references to the registration calls of MPICH's variant to libqmpi, if the loader
 * finds those of the MPI library first. Examines all objects that have been loaded since the last
 * call. In override.c.
 */
void qmpi_mpich_override(void);

#endif
