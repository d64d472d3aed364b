/* SPDX-License-Identifier: MIT */
/*
 * Where an error of a call is raised: the communicator, window, file or session whose error handler
 * MPI calls. Most calls are given it. A request or a message has it from the call that made it,
 * which is noted for them where it is needed.
 */
#ifndef QMPI_DELAY_ORIGIN_H
#define QMPI_DELAY_ORIGIN_H

#include <qmpi/observer.h>

#include <stdbool.h>

enum origin_kind {
    ORIGIN_PROCESS, /* nothing in particular: the communicator that MPI takes then */
    ORIGIN_COMM,
    ORIGIN_WIN,
    ORIGIN_FILE,
    ORIGIN_SESSION,
    ORIGIN_NONE /* no handler is called */
};

struct origin {
    enum origin_kind kind;
    union {
        MPI_Comm comm;
        MPI_Win win;
        MPI_File file;
        MPI_File_errhandler_function *function; /* noted of an error handler alone */
#if MPI_VERSION >= 4
        MPI_Session session;
#endif
    };
};

/* Of a call that has not been carried out yet: see QMPIX_Call. */
struct origin origin_of(const QMPIX_Call *call);

/* Of an error of a request that has been made and is not complete yet. */
struct origin origin_of_request(MPI_Request request);

/* Whether only a request or message that the function is given tells its origin. */
bool origin_is_noted(const QMPIX_Function *function);

/* Whether the function makes such a request or message, or ends what it was made of. To be observed
 * if requests are to be known: origin_begin before the call, origin_end after it. */
bool origin_is_made(const QMPIX_Function *function);
void origin_begin(const QMPIX_Call *call);
void origin_end(const QMPIX_Call *call);

/* The function of an error handler for files that the program made; NULL: not known. */
MPI_File_errhandler_function *origin_function(MPI_Errhandler errhandler);

/* Whether the error handler is one of MPI's own that end the job. */
bool origin_is_fatal(const struct origin *origin);

/* Calls the error handler with a code. Returns as the handler does; not at all where it ends the
 * job. Where no handler can be called (before MPI_Init, after MPI_Finalize) it does nothing. */
void origin_raise(const struct origin *origin, int code);

/* Once MPI is initialised: finds out which communicator MPI takes for ORIGIN_PROCESS. */
void origin_learn(void);

#endif
