/* SPDX-License-Identifier: MIT */
/*
 * The measured tools are built under several names (pass1, pass2, …), so that a stack consists of
 * different libraries, like a chain of PMPI wrappers. announce.c is compiled for each name
 * (BENCH_TOOL_NAME), and registers bench_init, which the file of the tool defines.
 */
#ifndef BENCH_ANNOUNCE_H
#define BENCH_ANNOUNCE_H

void bench_init(int tool_id);

#endif
