/* SPDX-License-Identifier: MIT */
/*
 * The measured tools are built under several names each (pass1, pass2, …), so that a stack of them
 * is a stack of different libraries, as a chain of PMPI wrappers is: announce.c holds the
 * name, the tool's own file its init.
 */
#ifndef BENCH_ANNOUNCE_H
#define BENCH_ANNOUNCE_H

void bench_init(int tool_id);

#endif
