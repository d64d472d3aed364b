/* SPDX-License-Identifier: MIT */
/* A library that does nothing, but is linked with libqmpi and the MPI library, so that they are
 * loaded with it. */
extern int brings;
int brings = 1;
