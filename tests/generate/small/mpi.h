/* SPDX-License-Identifier: MIT */
/* An invented mpi.h, with one example of each kind of declaration that the generator must read. */
#ifndef SMALL_MPI_H
#define SMALL_MPI_H

#define MPICH_VERSION "0"
#define MPI_SUCCESS 0
#define MPI_ERR_ARG 12
#define MPI_ERR_OTHER 15

typedef long MPI_Aint;
typedef struct small_comm *MPI_Comm; /* a handle that is no int */
typedef struct small_errhandler *MPI_Errhandler;
typedef struct MPI_Status {
    int MPI_SOURCE;
    int MPI_TAG;
} MPI_Status;
typedef int(MPI_Copy_function)(MPI_Comm, int, void *, void *, void *, int *);
enum small_level { SMALL_LEVEL_ONE };

/* MPICH's variant of QMPI. */
typedef struct QMPI_Context {
    void *storage_stack;
} QMPI_Context;
enum QMPI_Functions_enum { MPI_INIT_T, MPI_LAST_FUNC };
typedef int(QMPI_Init_t)(QMPI_Context context, int tool_id, int *argc, char ***argv);
int QMPI_Get_function(int calling_tool_id, enum QMPI_Functions_enum function_enum,
                      void (**function_ptr)(void), int *next_tool_id);

int MPI_Init(int *, char ***); /* parameters without names */
int MPI_Finalize(void);
int MPI_Group_range_incl(int n, int ranges[][3], const int ranks[], char *const names[]);
int MPI_Pcontrol(const int level, ...);
double MPI_Wtime(void);
MPI_Comm MPI_Comm_f2c(int comm); /* returns a handle */
int MPI_Keyval_create(MPI_Copy_function *copy, void (*inline_type)(int, double[2]),
                      enum small_level level, MPI_Status status);
int MPIX_Small_news(MPI_Comm comm, MPI_Aint);            /* not in the list of numbers */
int MPI_Send(const void *buf, int count, MPI_Comm comm); /* declared, but not exported */

int PMPI_Init(int *, char ***);
int PMPI_Finalize(void);
int PMPI_Group_range_incl(int n, int ranges[][3], const int ranks[], char *const names[]);
int PMPI_Pcontrol(const int level, ...);
double PMPI_Wtime(void);
MPI_Comm PMPI_Comm_f2c(int comm);
int PMPI_Keyval_create(MPI_Copy_function *copy, void (*inline_type)(int, double[2]),
                       enum small_level level, MPI_Status status);
int PMPIX_Small_news(MPI_Comm comm, MPI_Aint);
#endif
