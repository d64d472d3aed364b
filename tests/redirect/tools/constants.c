/* SPDX-License-Identifier: MIT */
/*
 * A PMPI tool with wrappers in C and Fortran, all of which call the PMPI functions of C. Like many
 * tools, it learns the addresses of Fortran's constants when its Fortran wrapper of MPI_Init or
 * MPI_Init_thread is called. With INIT_ALONE, it has no Fortran wrapper of MPI_Init_thread. Each
 * wrapper prints its name and some of the constants in its arguments.
 */
#define _GNU_SOURCE
#include "trace.h"

#include <mpi.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* ---- Constants of Fortran -------------------------------------------------------------------- */

enum { IN_PLACE, BOTTOM, STATUS, STATUSES, ERRCODES, UNWEIGHTED, EMPTY, ARGV, ARGVS, CONSTANTS };

static const void *fortran[CONSTANTS];
static bool knows;

void constants_pass_(void);
void constants_learn_(void *in_place, void *bottom, void *status, void *statuses, void *errcodes,
                      void *unweighted, void *empty, void *argv, void *argvs);

void constants_learn_(void *in_place, void *bottom, void *status, void *statuses, void *errcodes,
                      void *unweighted, void *empty, void *argv, void *argvs)
{
    const void *const learnt[CONSTANTS] = {in_place,   bottom, status, statuses, errcodes,
                                           unweighted, empty,  argv,   argvs};
    memcpy(fortran, learnt, sizeof fortran);
    knows = true;
}

static bool is(int constant, const void *given)
{
    return knows && given == fortran[constant];
}

static void *buffer_of(void *given)
{
    return is(IN_PLACE, given) ? MPI_IN_PLACE : is(BOTTOM, given) ? MPI_BOTTOM : given;
}

static const int *weights_of(const MPI_Fint *given)
{
    return is(UNWEIGHTED, given) ? MPI_UNWEIGHTED : is(EMPTY, given) ? MPI_WEIGHTS_EMPTY : given;
}

static void note_buffer(const char *wrapper, const void *buffer)
{
    trace("constants %s %s", wrapper,
          buffer == MPI_IN_PLACE ? "IN_PLACE"
          : buffer == MPI_BOTTOM ? "BOTTOM"
                                 : "none");
}

static void note_weights(const char *wrapper, const int *in, const int *out)
{
    const int *const both[] = {in, out};
    const char *words[2];
    for (int i = 0; i < 2; i++)
        words[i] = both[i] == MPI_UNWEIGHTED      ? "UNWEIGHTED"
                   : both[i] == MPI_WEIGHTS_EMPTY ? "WEIGHTS_EMPTY"
                                                  : "none";
    trace("constants %s %s %s", wrapper, words[0], words[1]);
}

static void note(const char *wrapper, bool given, const char *constant)
{
    trace("constants %s %s", wrapper, given ? constant : "none");
}

/* ---- C --------------------------------------------------------------------------------------- */

int MPI_Init(int *argc, char ***argv)
{
    trace("constants MPI_Init");
    return PMPI_Init(argc, argv);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    trace("constants MPI_Init_thread");
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Initialized(int *flag)
{
    trace("constants MPI_Initialized");
    return PMPI_Initialized(flag);
}

int MPI_Allreduce(const void *in, void *out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    note_buffer("MPI_Allreduce", in);
    return PMPI_Allreduce(in, out, count, type, op, comm);
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm)
{
    note_buffer("MPI_Send", buffer);
    return PMPI_Send(buffer, count, type, target, tag, comm);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    note("MPI_Recv", status == MPI_STATUS_IGNORE, "STATUS_IGNORE");
    return PMPI_Recv(buffer, count, type, source, tag, comm, status);
}

int MPI_Waitall(int count, MPI_Request *requests, MPI_Status *statuses)
{
    note("MPI_Waitall", statuses == MPI_STATUSES_IGNORE, "STATUSES_IGNORE");
    return PMPI_Waitall(count, requests, statuses);
}

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int in, const int *sources, const int *weights_in,
                                   int out, const int *targets, const int *weights_out,
                                   MPI_Info info, int reorder, MPI_Comm *graph)
{
    note_weights("MPI_Dist_graph_create_adjacent", weights_in, weights_out);
    return PMPI_Dist_graph_create_adjacent(comm, in, sources, weights_in, out, targets, weights_out,
                                           info, reorder, graph);
}

int MPI_Comm_spawn(const char *command, char **argv, int count, MPI_Info info, int root,
                   MPI_Comm comm, MPI_Comm *children, int *errors)
{
    note("MPI_Comm_spawn", argv == MPI_ARGV_NULL, "ARGV_NULL");
    note("MPI_Comm_spawn", errors == MPI_ERRCODES_IGNORE, "ERRCODES_IGNORE");
    return PMPI_Comm_spawn(command, argv, count, info, root, comm, children, errors);
}

int MPI_Comm_spawn_multiple(int count, char **commands, char ***argvs, const int *counts,
                            const MPI_Info *infos, int root, MPI_Comm comm, MPI_Comm *children,
                            int *errors)
{
    note("MPI_Comm_spawn_multiple", argvs == MPI_ARGVS_NULL, "ARGVS_NULL");
    note("MPI_Comm_spawn_multiple", errors == MPI_ERRCODES_IGNORE, "ERRCODES_IGNORE");
    return PMPI_Comm_spawn_multiple(count, commands, argvs, counts, infos, root, comm, children,
                                    errors);
}

/* ---- Fortran --------------------------------------------------------------------------------- */

void mpi_init_(MPI_Fint *error);
void mpi_init_(MPI_Fint *error)
{
    trace("constants mpi_init_");
    constants_pass_();
    *error = PMPI_Init(NULL, NULL);
}

#ifndef INIT_ALONE
void mpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error);
void mpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error)
{
    trace("constants mpi_init_thread_");
    constants_pass_();
    *error = PMPI_Init_thread(NULL, NULL, *required, provided);
}
#endif

void mpi_initialized_(MPI_Fint *flag, MPI_Fint *error);
void mpi_initialized_(MPI_Fint *flag, MPI_Fint *error)
{
    trace("constants mpi_initialized_");
    *error = PMPI_Initialized(flag);
}

void mpi_allreduce_(void *in, void *out, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op,
                    MPI_Fint *comm, MPI_Fint *error);
void mpi_allreduce_(void *in, void *out, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op,
                    MPI_Fint *comm, MPI_Fint *error)
{
    note_buffer("mpi_allreduce_", buffer_of(in));
    *error = PMPI_Allreduce(buffer_of(in), buffer_of(out), *count, MPI_Type_f2c(*type),
                            MPI_Op_f2c(*op), MPI_Comm_f2c(*comm));
}

void mpi_send_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *target, MPI_Fint *tag,
               MPI_Fint *comm, MPI_Fint *error);
void mpi_send_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *target, MPI_Fint *tag,
               MPI_Fint *comm, MPI_Fint *error)
{
    note_buffer("mpi_send_", buffer_of(buffer));
    *error = PMPI_Send(buffer_of(buffer), *count, MPI_Type_f2c(*type), *target, *tag,
                       MPI_Comm_f2c(*comm));
}

void mpi_recv_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *source, MPI_Fint *tag,
               MPI_Fint *comm, MPI_Fint *status, MPI_Fint *error);
void mpi_recv_(void *buffer, MPI_Fint *count, MPI_Fint *type, MPI_Fint *source, MPI_Fint *tag,
               MPI_Fint *comm, MPI_Fint *status, MPI_Fint *error)
{
    MPI_Status result;
    const bool ignored = is(STATUS, status);
    note("mpi_recv_", ignored, "STATUS_IGNORE");
    *error = PMPI_Recv(buffer_of(buffer), *count, MPI_Type_f2c(*type), *source, *tag,
                       MPI_Comm_f2c(*comm), ignored ? MPI_STATUS_IGNORE : &result);
    if (!ignored)
        MPI_Status_c2f(&result, status);
}

void mpi_waitall_(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *statuses, MPI_Fint *error);
void mpi_waitall_(MPI_Fint *count, MPI_Fint *requests, MPI_Fint *statuses, MPI_Fint *error)
{
    enum { STATUS_SIZE = sizeof(MPI_Status) / sizeof(MPI_Fint) };
    const size_t number = (size_t)*count;
    MPI_Request *handles = calloc(number, sizeof *handles);
    MPI_Status *results = calloc(number, sizeof *results);
    const bool ignored = is(STATUSES, statuses);
    note("mpi_waitall_", ignored, "STATUSES_IGNORE");
    for (size_t i = 0; i < number; i++)
        handles[i] = MPI_Request_f2c(requests[i]);
    *error = PMPI_Waitall(*count, handles, ignored ? MPI_STATUSES_IGNORE : results);
    for (size_t i = 0; i < number; i++) {
        requests[i] = MPI_Request_c2f(handles[i]);
        if (!ignored)
            MPI_Status_c2f(&results[i], statuses + STATUS_SIZE * i);
    }
    free(handles);
    free(results);
}

void mpi_dist_graph_create_adjacent_(MPI_Fint *comm, MPI_Fint *in, MPI_Fint *sources,
                                     MPI_Fint *weights_in, MPI_Fint *out, MPI_Fint *targets,
                                     MPI_Fint *weights_out, MPI_Fint *info, MPI_Fint *reorder,
                                     MPI_Fint *graph, MPI_Fint *error);
void mpi_dist_graph_create_adjacent_(MPI_Fint *comm, MPI_Fint *in, MPI_Fint *sources,
                                     MPI_Fint *weights_in, MPI_Fint *out, MPI_Fint *targets,
                                     MPI_Fint *weights_out, MPI_Fint *info, MPI_Fint *reorder,
                                     MPI_Fint *graph, MPI_Fint *error)
{
    MPI_Comm handles = MPI_COMM_NULL;
    note_weights("mpi_dist_graph_create_adjacent_", weights_of(weights_in),
                 weights_of(weights_out));
    *error = PMPI_Dist_graph_create_adjacent(
        MPI_Comm_f2c(*comm), *in, sources, weights_of(weights_in), *out, targets,
        weights_of(weights_out), MPI_Info_f2c(*info), *reorder != 0, &handles);
    *graph = MPI_Comm_c2f(handles);
}

/* Returns a Fortran string as a C string, which the caller frees. */
static char *text_of(const char *given, size_t length)
{
    while (length && given[length - 1] == ' ')
        length--;
    return strndup(given, length);
}

void mpi_comm_spawn_(const char *command, char *argv, MPI_Fint *count, MPI_Fint *info,
                     MPI_Fint *root, MPI_Fint *comm, MPI_Fint *children, MPI_Fint *errors,
                     MPI_Fint *error, size_t command_length, size_t argv_length);
void mpi_comm_spawn_(const char *command, char *argv, MPI_Fint *count, MPI_Fint *info,
                     MPI_Fint *root, MPI_Fint *comm, MPI_Fint *children, MPI_Fint *errors,
                     MPI_Fint *error, size_t command_length, size_t argv_length)
{
    MPI_Comm handles = MPI_COMM_NULL;
    char *text = text_of(command, command_length);
    char *argument = text_of(argv, argv_length), *arguments[] = {argument, NULL};
    note("mpi_comm_spawn_", is(ARGV, argv), "ARGV_NULL");
    note("mpi_comm_spawn_", is(ERRCODES, errors), "ERRCODES_IGNORE");
    *error = PMPI_Comm_spawn(text, is(ARGV, argv) ? MPI_ARGV_NULL : arguments, *count,
                             MPI_Info_f2c(*info), *root, MPI_Comm_f2c(*comm), &handles,
                             is(ERRCODES, errors) ? MPI_ERRCODES_IGNORE : errors);
    *children = MPI_Comm_c2f(handles);
    free(text);
    free(argument);
}

/* Supports only a single command. */
void mpi_comm_spawn_multiple_(MPI_Fint *count, const char *commands, char *argvs, MPI_Fint *counts,
                              MPI_Fint *infos, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *children,
                              MPI_Fint *errors, MPI_Fint *error, size_t command_length,
                              size_t argv_length);
void mpi_comm_spawn_multiple_(MPI_Fint *count, const char *commands, char *argvs, MPI_Fint *counts,
                              MPI_Fint *infos, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *children,
                              MPI_Fint *errors, MPI_Fint *error, size_t command_length,
                              size_t argv_length)
{
    MPI_Comm handles = MPI_COMM_NULL;
    MPI_Info info = MPI_Info_f2c(*infos);
    char *text = text_of(commands, command_length);
    char *argument = text_of(argvs, argv_length), *arguments[] = {argument, NULL};
    char **all[] = {arguments};
    note("mpi_comm_spawn_multiple_", is(ARGVS, argvs), "ARGVS_NULL");
    note("mpi_comm_spawn_multiple_", is(ERRCODES, errors), "ERRCODES_IGNORE");
    *error = PMPI_Comm_spawn_multiple(*count, &text, is(ARGVS, argvs) ? MPI_ARGVS_NULL : all,
                                      counts, &info, *root, MPI_Comm_f2c(*comm), &handles,
                                      is(ERRCODES, errors) ? MPI_ERRCODES_IGNORE : errors);
    *children = MPI_Comm_c2f(handles);
    free(text);
    free(argument);
}
