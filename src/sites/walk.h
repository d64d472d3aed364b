/* SPDX-License-Identifier: MIT */
/*
 * The return addresses from a frame on up the stack. The rules that lead from frame to frame
 * (frame_rule.h) are remembered for each return address, which makes a step as fast as a look-up in
 * a table. A rule holds for every call that returns to its address, whatever the frames around it
 * are like; what a word of the stack was in an earlier call is of no importance.
 */
#ifndef QMPI_SITES_WALK_H
#define QMPI_SITES_WALK_H

#include "sites/code.h"

#include <stdbool.h>
#include <stdint.h>

/* What is sought: the callers, as QMPIX_Call_get_callers returns them. */
struct qmpi_callers {
    void **all;
    int capacity, count;
    int start_count; /* of those at the end in code that may be what calls `main` */
};

/* Adds an address, innermost first; whether more is to be known. Addresses in the code that calls
 * `main` are left out if they are the last ones of the stack. */
static inline bool qmpi_callers_add(struct qmpi_callers *callers, uintptr_t address,
                                    enum qmpi_code code)
{
    if (code == QMPI_CODE_BETWEEN || (code == QMPI_CODE_LAYER && callers->count))
        return true;
    if (callers->count == callers->capacity)
        return code == QMPI_CODE_START;
    callers->all[callers->count++] = (void *)address;
    callers->start_count = code == QMPI_CODE_START ? callers->start_count + 1 : 0;
    return callers->count < callers->capacity || callers->start_count;
}

/* There are no more addresses. */
static inline void qmpi_callers_end(struct qmpi_callers *callers)
{
    callers->count -= callers->start_count;
}

/*
 * Adds the addresses from that to which `frame`, which is in use, returns. False: the way up the
 * stack is not known as far as it matters. Any thread, also in a signal handler. Reads only the
 * stack that contains the frame.
 */
bool qmpi_walk_up(struct qmpi_callers *callers, const void *frame);

/* What the code at a return address belongs to. */
enum qmpi_code qmpi_walk_code(uintptr_t address);

/* Forgets all rules. Called while qmpi_closing is true. */
void qmpi_walk_forget(void);

#endif
