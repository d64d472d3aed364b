/* SPDX-License-Identifier: MIT */
/* The actions that are implemented in fortran.F90, and the C functions that they call. */
#include "program.h"

void storm_book(int number);
void storm_complain(int line);

void storm_book(int number)
{
    storm_add(&storm->program[number], 1);
}

void storm_complain(int line)
{
    storm_wrong(storm, "fortran.F90:%d: not so", line);
}

#define STEPS(W)                                                                                   \
    W(f_init)                                                                                      \
    W(f_finalize)                                                                                  \
    W(f_outside) W(f_ask) W(f_sendrecv) W(f_requests) W(f_allreduce) W(f_collectives) W(f_objects)

#define DEFINE(NAME)                                                                               \
    void storm_##NAME(int comm, int rank, int size, const long *a);                                \
    static void NAME(struct storm_thread *thread, const long *a)                                   \
    {                                                                                              \
        storm_##NAME(thread->fortran_comm, storm_rank, storm_size, a);                             \
    }
STEPS(DEFINE)

#define ROW(NAME) {#NAME, NAME},
const struct storm_action storm_fortran_actions[] = {STEPS(ROW){0}};
