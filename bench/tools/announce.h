/* SPDX-License-Identifier: MIT */
/*
 * The measured tools are built under several names (pass1, pass2, …), so that a stack consists of
 * different libraries, like a chain of PMPI wrappers. announce.c contains the name, and the file of
 * the tool contains its init.
 */
#ifndef BENCH_ANNOUNCE_H
#define BENCH_ANNOUNCE_H

void bench_init(int tool_id);

#endif
