/* SPDX-License-Identifier: MIT */
/*
 * The Fortran wrappers of a PMPI tool, written as in real tools. Those of the init functions store
 * the address of Fortran's MPI_IN_PLACE. All of them call the tool's C wrappers, to which
 * mpi_allreduce_ passes C's MPI_IN_PLACE instead of Fortran's.
 */
#include "pmpi.h"

#ifdef MPI_Comm_f2c /* macros, as in MPICH 4.0 and 5.0 */
#define COMM(f) MPI_Comm_f2c(f)
#define TYPE(f) MPI_Type_f2c(f)
#define OP(f) MPI_Op_f2c(f)
#else
/* MPI_X_f2c are functions, so the layers below see their calls. */
#define CONVERSION(X, HANDLE, NAME)                                                                \
    static HANDLE NAME(MPI_Fint handle)                                                            \
    {                                                                                              \
        const struct storm_tool_call call = storm_pmpi_tool_call(STORM_##X##_f2c);                 \
        const HANDLE converted = PMPI_##X##_f2c(handle);                                           \
        storm_tool_call_end(&call);                                                                \
        return converted;                                                                          \
    }
CONVERSION(Comm, MPI_Comm, COMM)
CONVERSION(Type, MPI_Datatype, TYPE)
CONVERSION(Op, MPI_Op, OP)
#endif

static void *fortran_in_place;

void storm_constants_(void);
void storm_learn_constants_(void *in_place);
void mpi_init_(MPI_Fint *error);
void mpi_init_thread_(const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error);
void mpi_allreduce_(void *in, void *out, const MPI_Fint *count, const MPI_Fint *type,
                    const MPI_Fint *op, const MPI_Fint *comm, MPI_Fint *error);
void mpi_comm_rank_(const MPI_Fint *comm, MPI_Fint *rank, MPI_Fint *error);
void mpi_barrier_(const MPI_Fint *comm, MPI_Fint *error);

void storm_learn_constants_(void *in_place)
{
    fortran_in_place = in_place;
}

void mpi_init_(MPI_Fint *error)
{
    storm_constants_();
    *error = MPI_Init(NULL, NULL);
}

void mpi_init_thread_(const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *error)
{
    storm_constants_();
    *error = MPI_Init_thread(NULL, NULL, *required, provided);
}

void mpi_allreduce_(void *in, void *out, const MPI_Fint *count, const MPI_Fint *type,
                    const MPI_Fint *op, const MPI_Fint *comm, MPI_Fint *error)
{
    *error = MPI_Allreduce(in == fortran_in_place ? MPI_IN_PLACE : in, out, *count, TYPE(*type),
                           OP(*op), COMM(*comm));
}

void mpi_comm_rank_(const MPI_Fint *comm, MPI_Fint *rank, MPI_Fint *error)
{
    *error = MPI_Comm_rank(COMM(*comm), rank);
}

void mpi_barrier_(const MPI_Fint *comm, MPI_Fint *error)
{
    *error = MPI_Barrier(COMM(*comm));
}
