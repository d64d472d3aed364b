/* SPDX-License-Identifier: MIT */
/* Stacks of many kinds. */
#ifndef QMPI_TEST_WALK_FRAMES_H
#define QMPI_TEST_WALK_FRAMES_H

/* Calls a function, or reads an address that is not mapped if there is none, from stacks with
 * frames of all kinds. Each of these functions is compiled in the way that its name tells. */
typedef void walk_visitor(void);
typedef void walk_frames(walk_visitor *visit);
extern walk_frames walk_frames_O0, walk_frames_O2, walk_frames_fp, walk_frames_nofp,
    walk_frames_signed, walk_frames_vectors;

#endif
