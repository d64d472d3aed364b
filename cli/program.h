/* SPDX-License-Identifier: MIT */
/* This part reads the files of programs and libraries. It finds out whether preloading reaches a
 * program, which libraries the dynamic loader would give it, and how an object uses MPI. All
 * functions terminate the command if memory is exhausted. */
#ifndef QMPI_CLI_PROGRAM_H
#define QMPI_CLI_PROGRAM_H

#include "process/process.h"

#include <stdbool.h>
#include <time.h>

/* Returns the file that execvp would execute, or NULL; a name with a slash is returned as it is.
 * The caller frees it. */
char *program_find(const char *name);

bool program_is_directory(const char *path);

/* The same for an argument of a launcher. Returns NULL unless it is a file that can be executed. */
char *program_find_argument(const char *argument);

/* Returns a message, with a hint, about why preloading does not reach a program, or NULL if no
 * reason is known. The caller frees the message. */
char *program_obstacle(const char *path);

/* Warns about a program that preloading does not reach because it is static or privileged. */
void program_warn(const char *name);

/* Returns whether a file has the name of a launcher. */
bool program_is_launcher(const char *path);

/* Returns the file that the dynamic loader has loaded into this process for an entry of LD_PRELOAD,
 * or NULL if it has loaded none. The program, which inherits LD_PRELOAD, will get the same file.
 * The caller frees the path. */
char *program_find_preloaded(const char *name);

/* Returns whether the dynamic loader has preloaded this library into this process because of an
 * entry of LD_PRELOAD. */
bool program_is_preloaded(const char *path);

/* Returns whether a file was not modified after `begin`, the time at which a run began. The file is
 * then still the one that the run has used. */
bool program_is_unchanged(const char *path, time_t begin);

/* ---- Libraries and programs that use MPI ----------------------------------------------------- */

struct program_object {
    char *problem;           /* why it cannot be read, or NULL if the other members are valid */
    bool mpi_library;        /* it is or contains an MPI library */
    enum qmpi_mpi_kind kind; /* of this library */
    enum qmpi_mpi_kind implementation; /* the MPI whose launcher starts its programs */
    bool binding;                      /* it is a Fortran binding of MPI */
    bool qmpi;                         /* it is or contains libqmpi */
    bool qmpi_tool;                    /* it registers a tool */
    bool pmpi_tool;                    /* it defines MPI functions and is none of the above */
    bool calls_c;                      /* it refers to C functions of MPI */
    bool calls_mpif;                   /* it refers to procedures of mpif.h or the module mpi */
    bool calls_f08;                    /* it refers to procedures of the module mpi_f08 */
    bool calls_init;                   /* it refers to MPI_Init, in any language */
    bool calls_init_thread;
    bool loads;          /* it refers to dlopen */
    bool sets_asan;      /* it defines the function that gives options to AddressSanitizer */
    bool names_mpi;      /* it contains the name of an MPI library as text */
    bool has_static_mpi; /* it contains a text of an MPI library, or is a program that defines
                            functions PMPI_X other than those of libqmpi */
};

/* Reads a library or, if `program` is true, a program. The caller frees `problem`. */
struct program_object program_object_read(const char *path, bool program);

/* ---- The libraries of a program -------------------------------------------------------------- */

/* `name` is the name of a library in DT_NEEDED. `path` is its file, or NULL if it is not found. */
typedef void program_library(void *data, const char *name, const char *path);

/* Calls `add` for each library that the dynamic loader would load for a program, in the order of
 * loading. Returns NULL on success, and otherwise a message with a hint. The caller frees the
 * message. */
char *program_libraries(const char *path, program_library *add, void *data);

/* Returns the file of the MPI library among the libraries of a program, or NULL. The caller frees
 * it. */
char *program_find_mpi(const char *path);

/* ---- Functions of an MPI library ------------------------------------------------------------- */

/* Receives a function that only the MPI library (if `provided` is true) or only this libqmpi has.
 * `number` is -1 if libqmpi has no number for it. */
typedef void program_function(void *data, int number, const char *name, bool provided);

/* Calls `each` for the functions in which an MPI library and this libqmpi differ. Returns NULL on
 * success, and otherwise the reason why the library cannot be read. */
const char *program_compare_functions(const char *library, program_function *each, void *data);

#endif
