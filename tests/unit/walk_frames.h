/* SPDX-License-Identifier: MIT */
/* Functions that make stacks of many kinds. */
#ifndef QMPI_TEST_WALK_FRAMES_H
#define QMPI_TEST_WALK_FRAMES_H

/* Each function calls `visit` from a random stack with frames of various kinds. If `visit` is NULL,
 * the function reads an address that is not mapped instead. The name of a function tells how it is
 * compiled. */
typedef void walk_visitor(void);
typedef void walk_frames(walk_visitor *visit);
extern walk_frames walk_frames_O0, walk_frames_O2, walk_frames_fp, walk_frames_nofp,
    walk_frames_signed, walk_frames_vectors;

#endif
