/* SPDX-License-Identifier: MIT */
/*
 * Preloaded: counts what a layer that is compiled for the standard ABI sends by PMPI_X, if it is
 * one number of 8 bytes, as the clocks of profile,path=yes are; prints "clocks MESSAGES RECEIVES
 * COLLECTIVES" at the end.
 */
#define _GNU_SOURCE
#include <qmpi/qmpi.h>

#include <dlfcn.h>
#include <stdio.h>

static unsigned messages, receives, collectives;

/* PMPI_X is a macro: the name of the function that converts. */
#define STRING(NAME) #NAME
#define NAME_OF(NAME) STRING(NAME)
#define NEXT(NAME) ((__typeof__(&NAME))(__UINTPTR_TYPE__)dlsym(RTLD_NEXT, NAME_OF(NAME)))
#define COUNT(COUNTER, NUMBER, TYPE) ((COUNTER) += (NUMBER) == 1 && (TYPE) == MPI_UINT64_T)
#define PUBLIC __attribute__((visibility("default")))

PUBLIC int PMPI_Isend(const void *buffer, int count, MPI_Datatype type, int dest, int tag,
                      MPI_Comm comm, MPI_Request *request)
{
    COUNT(messages, count, type);
    return NEXT(PMPI_Isend)(buffer, count, type, dest, tag, comm, request);
}

PUBLIC int PMPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                     MPI_Status *status)
{
    COUNT(receives, count, type);
    return NEXT(PMPI_Recv)(buffer, count, type, source, tag, comm, status);
}

PUBLIC int PMPI_Allreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm)
{
    COUNT(collectives, count, type);
    return NEXT(PMPI_Allreduce)(send, receive, count, type, op, comm);
}

PUBLIC int PMPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    COUNT(collectives, count, type);
    return NEXT(PMPI_Bcast)(buffer, count, type, root, comm);
}

PUBLIC int PMPI_Reduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                       int root, MPI_Comm comm)
{
    COUNT(collectives, count, type);
    return NEXT(PMPI_Reduce)(send, receive, count, type, op, root, comm);
}

PUBLIC int PMPI_Iallreduce(const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op,
                           MPI_Comm comm, MPI_Request *request)
{
    COUNT(collectives, count, type);
    return NEXT(PMPI_Iallreduce)(send, receive, count, type, op, comm, request);
}

__attribute__((destructor)) static void print(void)
{
    printf("clocks %u %u %u\n", messages, receives, collectives);
}
