/* SPDX-License-Identifier: MIT */
/*
 * Where an error of a call is raised: the communicator, window, file or session whose error handler
 * MPI calls. Most calls are given it. A request or a message has it from the call that made it,
 * which is noted for them where it is needed.
 */
#ifndef QMPI_TOOL_DELAY_ERROR_OBJECT_H
#define QMPI_TOOL_DELAY_ERROR_OBJECT_H

#include <qmpi/observer.h>

#include <stdbool.h>

enum error_object_kind {
    ERROR_OBJECT_PROCESS, /* nothing in particular: the communicator that MPI takes then */
    ERROR_OBJECT_COMM,
    ERROR_OBJECT_WIN,
    ERROR_OBJECT_FILE,
    ERROR_OBJECT_SESSION,
    ERROR_OBJECT_NONE /* no handler is called */
};

struct error_object {
    enum error_object_kind kind;
    union {
        MPI_Comm comm;
        MPI_Win win;
        MPI_File file;
        MPI_File_errhandler_function *function; /* noted of an error handler alone */
#ifdef MPI_SESSION_NULL
        MPI_Session session;
#endif
    };
};

/* Whether the MPI library raises errors where Open MPI does, not where MPICH does. In a build for
 * the standard ABI, error_object_ask finds it out; to be called before anything else here. */
#if defined(OPEN_MPI) || defined(MPICH_VERSION)
#ifdef OPEN_MPI
enum { error_object_as_open_mpi = true };
#else
enum { error_object_as_open_mpi = false };
#endif
static inline void error_object_ask(void)
{
}
#else
extern bool error_object_as_open_mpi;
void error_object_ask(void);
#endif

/* Of a call that has not been carried out yet: see QMPIX_Call. */
struct error_object error_object_of(const QMPIX_Call *call);

/* Of an error of a request that has been made and is not complete yet. */
struct error_object error_object_of_request(MPI_Request request);

/* Whether only a request or message that the function is given tells its origin. */
bool error_object_is_noted(const QMPIX_Function *function);

/* Whether the function makes such a request or message, or ends what it was made of. To be observed
 * if requests are to be known: error_object_begin before the call, error_object_end after it. */
bool error_object_is_made(const QMPIX_Function *function);
void error_object_begin(const QMPIX_Call *call);
void error_object_end(const QMPIX_Call *call);

/* The function of an error handler for files that the program made; NULL: not known. */
MPI_File_errhandler_function *error_object_function(MPI_Errhandler errhandler);

/* Whether the error handler is one of MPI's own that end the job. */
bool error_object_is_fatal(const struct error_object *error_object);

/* Calls the error handler with a code. Returns as the handler does; not at all where it ends the
 * job. Where no handler can be called (before MPI_Init, after MPI_Finalize) it does nothing.
 * Returns what the MPI library's function would return after that: the code, or MPI_SUCCESS. */
int error_object_invoke(const struct error_object *error_object, int code);

/* Once MPI is initialized: finds out which communicator MPI takes for ERROR_OBJECT_PROCESS, and
 * what functions return after an error handler of the program. */
void error_object_learn(void);

#endif
