/* SPDX-License-Identifier: MIT */
/*
 * Finds the lines of Python that make an MPI call through an extension such as mpi4py.
 *
 * A thread reads only its own frames, and only during a call, while the frames do not change. A
 * signal handler may make a call while the interpreter changes frames, but the interpreter does
 * this in an order that leaves the current frame valid at every instruction. Therefore, reading
 * requires neither the global interpreter lock nor functions that allocate memory or count
 * references.
 *
 * When the interpreter ends, it removes the frames of threads that still run. Therefore, each
 * search first asks whether the interpreter is ending, and finds no lines from then on.
 *
 * No public function returns frames without counting references. Therefore, the layout of frames is
 * defined here for CPython 3.11.1 to 3.12; versions 3.13 to 3.15 describe their own layout. Before
 * a layout is used, reads that cannot fault check that it leads to objects of the right types. With
 * other versions and free-threaded builds, no lines are found.
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
 * Python interpreter whose frames can be read. If so, a call site of the layer has one more
 * frame. */
bool python_begin(int tool_id);

/* Returns whether python_begin has returned true for this layer. */
bool python_is_used(int tool_id);

/*
 * Finds the place that made a call, and stores it as `depth` addresses, of which the unused ones
 * are NULL. `depth` must be at least 2.
 *
 * If an extension of Python made the call, the place consists of up to depth - 1 lines of Python,
 * innermost first, and the caller in the extension. The caller is left out if the extension is
 * known to be a mere wrapper of MPI. In all other cases, the place consists of up to depth - 1
 * callers, and of the innermost line of Python if there is one.
 *
 * A line is stored as an address that python_find_line accepts. Lines of the interpreter's own
 * modules, such as those that import others, are left out.
 */
void python_find_callers(const QMPIX_Call *call, void **callers, size_t depth);

/* Returns the line of Python for which an address stands, or NULL if the address stands for none.
 * Each line has a single address. The line and its address stay valid until the process ends. */
const struct python_line *python_find_line(uint64_t address);

#endif
