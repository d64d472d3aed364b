/* SPDX-License-Identifier: MIT */
/*
 * Included in front of every source file of a build that measures coverage; see CONTRIBUTING.md.
 * The counters of coverage are written by an exit handler. _exit and execvp skip it, so these
 * macros write the counters first.
 */
#ifndef QMPI_COVERAGE_DUMP_H
#define QMPI_COVERAGE_DUMP_H
#ifndef __ASSEMBLER__

#define _GNU_SOURCE
#include <unistd.h> /* before the macros replace its functions */

extern void __gcov_dump(void);
#define _exit(status) (__gcov_dump(), _exit(status))
#define execvp(file, arguments) (__gcov_dump(), execvp(file, arguments))

#endif
#endif
