/* SPDX-License-Identifier: MIT */
/*
 * Finds the lines of Python that make an MPI call through an extension such as mpi4py.
 *
 * A thread reads only its own frames, during a call. They do not change meanwhile. The interpreter
 * changes them before and after the call, in an order that leaves the current frame valid at every
 * instruction, so that this also holds in signal handlers. Neither the lock of the interpreter nor
 * a function that allocates memory or counts references is needed.
 *
 * Only when the interpreter ends does it remove the frames of threads that still run. From then on,
 * no lines are found: like the interpreter when such a thread returns to it, this first asks
 * whether the interpreter ends.
 *
 * No public function returns frames without counting references. The layout of frames is therefore
 * known for CPython 3.11 and 3.12; 3.13 to 3.15 describe their own. It is used only after it has
 * led, with reads that cannot fault, to objects of the right types. Other versions and
 * free-threaded builds have other layouts: no lines are found there.
 */
#ifndef QMPI_TOOL_PROFILE_RECORD_PYTHON_H
#define QMPI_TOOL_PROFILE_RECORD_PYTHON_H

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct python_line {
    char *file, *function;
    int line;
};

/* Lets a layer name lines of Python. Call this in `init`. Returns whether the process contains a
 * Python whose frames can be read. A call site of the layer then has one more frame. */
bool python_begin(int tool_id);

bool python_is_used(int tool_id);

/*
 * Finds the place that made a call: `depth` addresses, those that do not exist being NULL. `depth`
 * is at least 2. If an extension of Python made the call, these are up to depth - 1 lines of
 * Python, the innermost first, and the caller in the extension, unless it is known to be a mere
 * wrapper of MPI. Otherwise, they are up to depth - 1 callers, and the innermost line of Python if
 * there is one. Lines are given as addresses for python_find_line. Lines of the interpreter's own
 * modules, such as those that import others, are left out.
 */
void python_find_callers(const QMPIX_Call *call, void **callers, size_t depth);

/* Returns the line of Python for which an address stands, or NULL if it is another address. Each
 * line has only one address. It remains valid. */
const struct python_line *python_find_line(uint64_t address);

#endif
