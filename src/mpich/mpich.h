/* SPDX-License-Identifier: MIT */
/*
 * MPICH's QMPI dialect: the older draft that MPICH's mpi.h declares. Its interceptors take a
 * context of one pointer, which says nothing, and the layer's tool_id; a tool asks for the function
 * below it together with that one's tool_id and calls it with them. Chains hold layers of either
 * kind: each node can be called in both ways, and of its two functions one is the tool's own.
 */
#ifndef QMPI_MPICH_MPICH_H
#define QMPI_MPICH_MPICH_H

#include "dispatch/mpich_convention.h"

/* The text of an address, as 0x and hexadecimal digits. */
struct qmpi_mpich_address {
    const void *address;
    char text[2 + 2 * sizeof(void *) + 1];
};

/*
 * Always the same for the same address; it lives for the whole run and never changes. In
 * address_text.c. Any thread; takes no lock, so that a signal handler may interrupt it and come
 * here itself.
 */
const struct qmpi_mpich_address *qmpi_mpich_address(const void *address);

/*
 * Where the loader finds the MPI library's calls of this name before ours: leads all who use them,
 * and all who come to, to ours, object by object. Looks at all objects that have been loaded since
 * it last did. In override.c.
 */
void qmpi_mpich_override(void);

#endif
