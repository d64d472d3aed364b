/* SPDX-License-Identifier: MIT */
/*
 * Replaces the MPI functions that exchange.c calls by functions that dlsym looks up in each call,
 * as in programs that are not linked with MPI. The variable REDIRECT_MPI is the name of the MPI
 * library. REDIRECT_WAY selects how functions are looked up:
 *   local     by the library's handle (the default)
 *   global    by its handle, after it was loaded with RTLD_GLOBAL
 *   default   by RTLD_DEFAULT, after the library was loaded with RTLD_GLOBAL
 */
#ifndef BY_NAME_H
#define BY_NAME_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void *by_name_find(const char *name)
{
    static void *library;
    const char *binding = getenv("REDIRECT_WAY") ? getenv("REDIRECT_WAY") : "local";
    if (!library)
        library = dlopen(getenv("REDIRECT_MPI"),
                         RTLD_NOW | (strcmp(binding, "local") ? RTLD_GLOBAL : RTLD_LOCAL));
    void *found = library ? dlsym(strcmp(binding, "default") ? library : RTLD_DEFAULT, name) : NULL;
    if (!found) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        exit(95);
    }
    return found;
}

#ifdef OPEN_MPI /* its predefined handles are addresses of data */
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)by_name_find(#global))
#endif

#define BY_NAME_CALL(X) ((__typeof__(&(X)))(uintptr_t)by_name_find(#X))

#define MPI_Allgather(...) BY_NAME_CALL(MPI_Allgather)(__VA_ARGS__)
#define MPI_Allreduce(...) BY_NAME_CALL(MPI_Allreduce)(__VA_ARGS__)
#define MPI_Alltoallw(...) BY_NAME_CALL(MPI_Alltoallw)(__VA_ARGS__)
#define MPI_Barrier(...) BY_NAME_CALL(MPI_Barrier)(__VA_ARGS__)
#define MPI_Bcast(...) BY_NAME_CALL(MPI_Bcast)(__VA_ARGS__)
#define MPI_Cart_create(...) BY_NAME_CALL(MPI_Cart_create)(__VA_ARGS__)
#define MPI_Cart_shift(...) BY_NAME_CALL(MPI_Cart_shift)(__VA_ARGS__)
#define MPI_Cart_sub(...) BY_NAME_CALL(MPI_Cart_sub)(__VA_ARGS__)
#define MPI_Cartdim_get(...) BY_NAME_CALL(MPI_Cartdim_get)(__VA_ARGS__)
#define MPI_Comm_free(...) BY_NAME_CALL(MPI_Comm_free)(__VA_ARGS__)
#define MPI_Comm_get_name(...) BY_NAME_CALL(MPI_Comm_get_name)(__VA_ARGS__)
#define MPI_Comm_rank(...) BY_NAME_CALL(MPI_Comm_rank)(__VA_ARGS__)
#define MPI_Comm_set_name(...) BY_NAME_CALL(MPI_Comm_set_name)(__VA_ARGS__)
#define MPI_Comm_size(...) BY_NAME_CALL(MPI_Comm_size)(__VA_ARGS__)
#define MPI_Comm_split(...) BY_NAME_CALL(MPI_Comm_split)(__VA_ARGS__)
#define MPI_Dist_graph_create_adjacent(...)                                                        \
    BY_NAME_CALL(MPI_Dist_graph_create_adjacent)(__VA_ARGS__)
#define MPI_Dist_graph_neighbors_count(...)                                                        \
    BY_NAME_CALL(MPI_Dist_graph_neighbors_count)(__VA_ARGS__)
#define MPI_File_close(...) BY_NAME_CALL(MPI_File_close)(__VA_ARGS__)
#define MPI_File_open(...) BY_NAME_CALL(MPI_File_open)(__VA_ARGS__)
#define MPI_File_write_at(...) BY_NAME_CALL(MPI_File_write_at)(__VA_ARGS__)
#define MPI_Finalize(...) BY_NAME_CALL(MPI_Finalize)(__VA_ARGS__)
#define MPI_Gather(...) BY_NAME_CALL(MPI_Gather)(__VA_ARGS__)
#define MPI_Get_count(...) BY_NAME_CALL(MPI_Get_count)(__VA_ARGS__)
#define MPI_Info_create(...) BY_NAME_CALL(MPI_Info_create)(__VA_ARGS__)
#define MPI_Info_free(...) BY_NAME_CALL(MPI_Info_free)(__VA_ARGS__)
#define MPI_Info_set(...) BY_NAME_CALL(MPI_Info_set)(__VA_ARGS__)
#define MPI_Init(...) BY_NAME_CALL(MPI_Init)(__VA_ARGS__)
#define MPI_Irecv(...) BY_NAME_CALL(MPI_Irecv)(__VA_ARGS__)
#define MPI_Isend(...) BY_NAME_CALL(MPI_Isend)(__VA_ARGS__)
#define MPI_Neighbor_alltoallw(...) BY_NAME_CALL(MPI_Neighbor_alltoallw)(__VA_ARGS__)
#define MPI_Recv(...) BY_NAME_CALL(MPI_Recv)(__VA_ARGS__)
#define MPI_Reduce(...) BY_NAME_CALL(MPI_Reduce)(__VA_ARGS__)
#define MPI_Scan(...) BY_NAME_CALL(MPI_Scan)(__VA_ARGS__)
#define MPI_Scatter(...) BY_NAME_CALL(MPI_Scatter)(__VA_ARGS__)
#define MPI_Send(...) BY_NAME_CALL(MPI_Send)(__VA_ARGS__)
#define MPI_Sendrecv(...) BY_NAME_CALL(MPI_Sendrecv)(__VA_ARGS__)
#define MPI_Type_commit(...) BY_NAME_CALL(MPI_Type_commit)(__VA_ARGS__)
#define MPI_Type_free(...) BY_NAME_CALL(MPI_Type_free)(__VA_ARGS__)
#define MPI_Type_size(...) BY_NAME_CALL(MPI_Type_size)(__VA_ARGS__)
#define MPI_Type_vector(...) BY_NAME_CALL(MPI_Type_vector)(__VA_ARGS__)
#define MPI_Waitall(...) BY_NAME_CALL(MPI_Waitall)(__VA_ARGS__)
#define MPI_Wtime(...) BY_NAME_CALL(MPI_Wtime)(__VA_ARGS__)

#endif
