/* SPDX-License-Identifier: MIT */
/* What profile must know of each MPI function, found once from the functions' descriptions. */
#ifndef QMPI_PROFILE_FACTS_H
#define QMPI_PROFILE_FACTS_H

#include <qmpi/observer.h>

#include <stdbool.h>

struct facts {
    bool has_transfers; /* starts messages or one-sided accesses: its bytes are theirs */
    bool has_bytes;     /* moves bytes otherwise */
    bool reads_peer;    /* one-sided: what it receives comes from the peer's window */
    bool starts;        /* MPI_Start, MPI_Startall: the communicator is the operation's */
    bool waits;         /* a blocking collective, before which sync=yes waits; not MPI_Barrier */
    bool is_steered;    /* see steer.h */
    bool has_error;     /* returns an error class */
    unsigned char receives; /* enum receives_role */
    signed char comm;       /* the argument that is a communicator; -1: none */
    signed char file;       /* the argument that is a file; -1: none */
};

extern struct facts facts_all[MPI_LAST_FUNC];

/* Whether the layer is called for the function also while it is switched off; see steer.h. With
 * sync=yes a rank that is off must not leave out the barrier for which the others wait. */
static inline bool facts_keep(const struct facts *facts, bool sync)
{
    return facts->is_steered || (sync && facts->waits);
}

/* Finds them; again: does nothing. From `init`. */
void facts_find(void);

#endif
