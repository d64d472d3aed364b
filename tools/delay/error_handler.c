/* SPDX-License-Identifier: MIT */
/* Calling the program's error handlers: see error_object.h. */
#include "error_object.h"

#include <stddef.h>
#include <string.h>

#if !defined(OPEN_MPI) && !defined(MPICH_VERSION)
bool error_object_as_open_mpi;

/* May be asked before MPI_Init. */
void error_object_ask(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    if (PMPI_Get_library_version(version, &length) == MPI_SUCCESS)
        error_object_as_open_mpi = !strncmp(version, "Open MPI", strlen("Open MPI"));
}
#endif

/* The communicator for errors of calls without one: MPI_COMM_SELF since MPI 4.0, MPI_COMM_WORLD
 * before; libraries differ from the standard that they name, so this one is asked. */
static bool takes_world = MPI_VERSION < 4;

/* Whether a function gives MPI_SUCCESS once the program's own handler has returned, as those of
 * MPICH 5 do; others give the error. */
static bool handled_is_success;

/* The handlers are told apart, as the handle that they are given may be wrong: Open MPI 6.0.0rc2
 * gives an inner one in its library of the standard ABI. */
static void note_world(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    takes_world = true;
}

static void note_self(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    (void)code;
    takes_world = false;
}

static bool is_predefined(MPI_Errhandler errhandler)
{
#ifdef MPI_ERRORS_ABORT
    if (errhandler == MPI_ERRORS_ABORT)
        return true;
#endif
    return errhandler == MPI_ERRORS_ARE_FATAL || errhandler == MPI_ERRORS_RETURN;
}

void error_object_learn(void)
{
    static int learnt;
    const MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF};
    MPI_Errhandler theirs[2], mine[2];
    int size, i;
    if (__atomic_exchange_n(&learnt, 1, __ATOMIC_RELAXED) ||
        PMPI_Comm_create_errhandler(note_world, &mine[0]) != MPI_SUCCESS ||
        PMPI_Comm_create_errhandler(note_self, &mine[1]) != MPI_SUCCESS)
        return;
    for (i = 0; i < 2; i++) {
        PMPI_Comm_get_errhandler(comms[i], &theirs[i]);
        PMPI_Comm_set_errhandler(comms[i], mine[i]);
    }
    handled_is_success = PMPI_Type_size(MPI_DATATYPE_NULL, &size) == MPI_SUCCESS;
    for (i = 0; i < 2; i++) {
        PMPI_Comm_set_errhandler(comms[i], theirs[i]);
        PMPI_Errhandler_free(&mine[i]);
        if (!is_predefined(theirs[i]))
            PMPI_Errhandler_free(&theirs[i]);
    }
}

/* The communicator that stands for the process, and whether there is one: the predefined ones come
 * with MPI_Init; others come from a session too. */
static bool is_there(MPI_Comm comm)
{
    int initialized = 0;
    PMPI_Initialized(&initialized);
    return initialized || (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF);
}

static struct error_object resolve(const struct error_object *error_object)
{
    struct error_object place = *error_object;
    int finalized = 0;
    PMPI_Finalized(&finalized);
    if (error_object->kind == ERROR_OBJECT_PROCESS)
        place = (struct error_object){.kind = ERROR_OBJECT_COMM,
                                      .comm = takes_world ? MPI_COMM_WORLD : MPI_COMM_SELF};
    if (finalized || (place.kind == ERROR_OBJECT_COMM && !is_there(place.comm)))
        place.kind = ERROR_OBJECT_NONE;
    return place;
}

/* Its error handler, to be compared only; MPI_ERRORS_RETURN where there is none. */
static MPI_Errhandler errhandler_of(const struct error_object *place)
{
    MPI_Errhandler errhandler = MPI_ERRORS_RETURN;
    if (place->kind == ERROR_OBJECT_COMM)
        PMPI_Comm_get_errhandler(place->comm, &errhandler);
    else if (place->kind == ERROR_OBJECT_WIN)
        PMPI_Win_get_errhandler(place->win, &errhandler);
    else if (place->kind == ERROR_OBJECT_FILE)
        PMPI_File_get_errhandler(place->file, &errhandler);
#ifdef MPI_SESSION_NULL
    else if (place->kind == ERROR_OBJECT_SESSION)
        PMPI_Session_get_errhandler(place->session, &errhandler);
#endif
    MPI_Errhandler reference = errhandler;
    if (!is_predefined(errhandler))
        PMPI_Errhandler_free(&reference);
    return errhandler;
}

bool error_object_is_fatal(const struct error_object *error_object)
{
    const struct error_object place = resolve(error_object);
    const MPI_Errhandler errhandler = errhandler_of(&place);
    return is_predefined(errhandler) && errhandler != MPI_ERRORS_RETURN;
}

/* MPI_FILE_NULL's handler, which Open MPI's MPI_File_call_errhandler refuses to call. One that was
 * made in Fortran is not known, nor called. */
static void call_handler_of_null(int code)
{
    MPI_File file = MPI_FILE_NULL;
    MPI_Errhandler errhandler = MPI_ERRORS_RETURN;
    PMPI_File_get_errhandler(file, &errhandler);
    if (errhandler == MPI_ERRORS_RETURN)
        return;
    if (is_predefined(errhandler)) {
        PMPI_Abort(MPI_COMM_WORLD, code);
        return;
    }
    MPI_File_errhandler_function *function = error_object_function(errhandler);
    PMPI_Errhandler_free(&errhandler);
    if (function)
        function(&file, &code);
}

static void call_file_handler(MPI_File file, int code)
{
    if (error_object_as_open_mpi && file == MPI_FILE_NULL)
        call_handler_of_null(code);
    else
        PMPI_File_call_errhandler(file, code);
}

int error_object_invoke(const struct error_object *error_object, int code)
{
    const struct error_object place = resolve(error_object);
    const bool is_success = handled_is_success && !is_predefined(errhandler_of(&place));
    if (place.kind == ERROR_OBJECT_COMM)
        PMPI_Comm_call_errhandler(place.comm, code);
    else if (place.kind == ERROR_OBJECT_WIN)
        PMPI_Win_call_errhandler(place.win, code);
    else if (place.kind == ERROR_OBJECT_FILE)
        call_file_handler(place.file, code);
#ifdef MPI_SESSION_NULL
    else if (place.kind == ERROR_OBJECT_SESSION)
        PMPI_Session_call_errhandler(place.session, code);
#endif
    return is_success ? MPI_SUCCESS : code;
}
