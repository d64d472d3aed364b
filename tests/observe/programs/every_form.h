/* SPDX-License-Identifier: MIT */
/*
 * Macros that call a collective in its six forms: blocking, nonblocking and persistent, each with
 * counts of type int and MPI_Count. Persistent operations are started only once, because MPICH 4.0
 * loses the communicator and the datatypes of some of them at the second start.
 *
 * X and x are the name of the function, such as Bcast and bcast. ARGS(PICK) is the list of
 * arguments up to the communicator. In this list, PICK(array) selects the array of the right type
 * from a `struct counts` or `struct displacements`.
 *
 * ARGUMENTS is the whole list of arguments, in which the request has the name `request_of`. `sent`,
 * `received` and `root` are those of amount().
 */
#ifndef TEST_EVERY_FORM_H
#define TEST_EVERY_FORM_H

#include "expect.h"

#define MOST 4

struct counts {
    int small[MOST];
    MPI_Count large[MOST];
};
struct displacements {
    int small[MOST];
    MPI_Aint large[MOST];
};
#define COUNTS(...)                                                                                \
    {                                                                                              \
        {__VA_ARGS__},                                                                             \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define SMALL(array) (array).small
#define LARGE(array) (array).large

/* Returns the fields for the numbers of bytes that the call sends and receives in this process,
 * followed by `root`, which is the field for the root or "". */
static inline const char *amount(long sent, long received, const char *root)
{
    return says("@ sent=%ld received=%ld %s", sent, received, root);
}

#define ONE_PERSISTENT(X, ARGUMENTS, sent, received, root)                                         \
    WHERE_EXISTS(                                                                                  \
        X, do {                                                                                    \
            MPI_Request request_of;                                                                \
            DO(X, ARGUMENTS, says("@ %s", root));                                                  \
            const MPI_Request old_of = request_of;                                                 \
            DO(Start, (&request_of),                                                               \
               says("%s root=* started=%s", amount(sent, received, ""), REQUEST(old_of)));         \
            DO(Wait, (&request_of, MPI_STATUS_IGNORE), says("completed=%s", REQUEST(old_of)));     \
            DO(Request_free, (&request_of), "");                                                   \
        } while (0))

#define ONE_NONBLOCKING(X, ARGUMENTS, sent, received, root)                                        \
    do {                                                                                           \
        MPI_Request request_of;                                                                    \
        DO_AND_WAIT(X, ARGUMENTS, request_of, amount(sent, received, root));                       \
    } while (0)

#define BLOCKING_AND_NONBLOCKING(X, x, ARGS, sent, received, root)                                 \
    do {                                                                                           \
        DO(X, (ARGS(SMALL)), amount(sent, received, root));                                        \
        DO(X##_c, (ARGS(LARGE)), amount(sent, received, root));                                    \
        ONE_NONBLOCKING(I##x, (ARGS(SMALL), &request_of), sent, received, root);                   \
        ONE_NONBLOCKING(I##x##_c, (ARGS(LARGE), &request_of), sent, received, root);               \
    } while (0)

/* Calls only the forms with MPI_Count counts. */
#define EVERY_LARGE_FORM(X, x, ARGS, sent, received, root)                                         \
    do {                                                                                           \
        DO(X##_c, (ARGS(LARGE)), amount(sent, received, root));                                    \
        ONE_NONBLOCKING(I##x##_c, (ARGS(LARGE), &request_of), sent, received, root);               \
        ONE_PERSISTENT(X##_init_c, (ARGS(LARGE), MPI_INFO_NULL, &request_of), sent, received,      \
                       root);                                                                      \
    } while (0)

#define EVERY_FORM(X, x, ARGS, sent, received, root)                                               \
    do {                                                                                           \
        BLOCKING_AND_NONBLOCKING(X, x, ARGS, sent, received, root);                                \
        ONE_PERSISTENT(X##_init, (ARGS(SMALL), MPI_INFO_NULL, &request_of), sent, received, root); \
        ONE_PERSISTENT(X##_init_c, (ARGS(LARGE), MPI_INFO_NULL, &request_of), sent, received,      \
                       root);                                                                      \
    } while (0)

#endif
