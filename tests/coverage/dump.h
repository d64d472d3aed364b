/* SPDX-License-Identifier: MIT */
/*
 * Included in front of every source file of a build that measures coverage; see CONTRIBUTING.md.
 * _exit ends a process without the handler that would write down what was executed, and so does
 * becoming another program.
 */
#ifndef QMPI_COVERAGE_DUMP_H
#define QMPI_COVERAGE_DUMP_H
#ifndef __ASSEMBLER__

#define _GNU_SOURCE
#include <unistd.h> /* before the name means something else */

extern void __gcov_dump(void);
#define _exit(status) (__gcov_dump(), _exit(status))
#define execvp(file, arguments) (__gcov_dump(), execvp(file, arguments))

#endif
#endif
