/* SPDX-License-Identifier: MIT */
/* Small numbers for objects that come and go, and an object under each: unused numbers are given
 * again. The caller locks. */
#ifndef QMPI_TOOL_PROFILE_RECORD_NUMBERING_H
#define QMPI_TOOL_PROFILE_RECORD_NUMBERING_H

struct numbering {
    void **objects; /* [number] */
    int count, capacity;
    int *spare; /* unused numbers, `spare_count` of them; room for `capacity` */
    int spare_count;
};

/* Returns an unused number; -1: memory is exhausted. The object of a new one is NULL; that of one
 * that was used before is what it was. */
int numbering_take(struct numbering *numbering);

/* The number is unused from now on. */
static inline void numbering_release(struct numbering *numbering, int number)
{
    numbering->spare[numbering->spare_count++] = number;
}

#endif
