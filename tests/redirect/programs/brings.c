/* SPDX-License-Identifier: MIT */
/* A library that does nothing. It is linked with libqmpi and the MPI library, and so loads them.
 */
extern int brings;
int brings = 1;
