/* SPDX-License-Identifier: MIT */
/*
 * The error object of a call is the communicator, window, file or session whose error handler MPI
 * calls for an error of the call. Most calls have it as an argument. The error object of a request
 * or message is that of the call that made it. It is called the origin of the request or message,
 * and is remembered if a rule (rule.h) needs it.
 */
#ifndef QMPI_TOOL_DELAY_ERROR_OBJECT_H
#define QMPI_TOOL_DELAY_ERROR_OBJECT_H

#include <qmpi/observer.h>

#include <stdbool.h>
#include <stdint.h>

enum error_object_kind {
    ERROR_OBJECT_PROCESS, /* there is no object, and MPI uses MPI_COMM_SELF or MPI_COMM_WORLD */
    ERROR_OBJECT_COMM,
    ERROR_OBJECT_WIN,
    ERROR_OBJECT_FILE,
    ERROR_OBJECT_SESSION,
    ERROR_OBJECT_NONE /* no handler is called */
};

struct error_object {
    enum error_object_kind kind;
    union {
        uint64_t handle; /* the bytes of one of the following handles */
        MPI_Comm comm;
        MPI_Win win;
        MPI_File file;
#ifdef MPI_SESSION_NULL
        MPI_Session session;
#endif
        MPI_File_errhandler_function *function; /* the callback of an error handler for files */
    };
};

/* Whether the MPI library raises errors on the objects that Open MPI uses, not on those of MPICH.
 * In a build for the standard ABI, error_object_start determines this. */
#if defined(OPEN_MPI)
enum { error_object_as_open_mpi = true };
#elif defined(MPICH_VERSION)
enum { error_object_as_open_mpi = false };
#else
extern bool error_object_as_open_mpi;
#endif

/* Looks up the role and the parameters of each MPI function. The tool's `init` must call this
 * function (see fault_register) before any other function of this file is called. */
void error_object_start(void);

/* Returns the error object of a call. The call must not have been carried out yet if it frees this
 * object, or if the object is the origin of a request or message. */
struct error_object error_object_of(const QMPIX_Call *call);

/* Returns the origin of a request that is not complete yet, or ERROR_OBJECT_PROCESS if it is not
 * known. */
struct error_object error_object_of_request(MPI_Request request);

/* Returns whether errors of a function depend on what error_object_end has stored: the origin of a
 * request or message or, in Open MPI, the callback of an error handler for files. */
bool error_object_needs_origin(const QMPIX_Function *function);

/* Returns whether a function makes a request, a message or, in Open MPI, an error handler for
 * files, or frees an object. If a rule needs origins, error_object_begin must be called before each
 * such call, and error_object_end after it. */
bool error_object_sets_origin(const QMPIX_Function *function);
void error_object_begin(const QMPIX_Call *call);
void error_object_end(const QMPIX_Call *call);

/* Returns whether a function opens or frees a window, file or session. If calls are to fail,
 * error_object_begin and error_object_end must be called around calls of these functions, too, to
 * record which handles are valid: for an invalid handle, MPI calls the error handler of another
 * object. */
bool error_object_opens(const QMPIX_Function *function);

/* Returns whether the error handler is a predefined one that ends the job. */
bool error_object_is_fatal(const struct error_object *error_object);

/* Calls the error handler with a code. Calls none for ERROR_OBJECT_NONE, after MPI_Finalize, and if
 * the handler is that of MPI_COMM_WORLD or MPI_COMM_SELF before MPI_Init. Returns the result that a
 * function of the MPI library would return after that: the code or MPI_SUCCESS. */
int error_object_invoke(const struct error_object *error_object, int code);

/* Finds out which communicator MPI uses for ERROR_OBJECT_PROCESS, and what functions return after
 * an error handler of the program has returned. MPI must be initialized. */
void error_object_learn_handlers(void);

#endif
