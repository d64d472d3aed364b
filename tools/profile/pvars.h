/* SPDX-License-Identifier: MIT */
/*
 * What a layer of profile knows of each function, as MPI_T performance variables: a monitor reads
 * it while the program runs. What a monitor resets is its handle's value: the notes go on, and so
 * does what profile itself reports.
 */
#ifndef QMPI_TOOL_PROFILE_PVARS_H
#define QMPI_TOOL_PROFILE_PVARS_H

#include <stdbool.h>

/*
 * Has them published for a layer when MPI_T is first initialized, so that programs that never ask
 * pay nothing for some thousand variables. From `init`, after traits_find.
 * False: libqmpi would not.
 */
bool publish_lazily(int tool_id);

#endif
