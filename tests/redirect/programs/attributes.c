/* SPDX-License-Identifier: MIT */
/* The C part of attributes.F90, which sets attributes that Fortran gets, and vice versa. */
#include <mpi.h>

#include <stdint.h>
#include <stdlib.h>

void set_in_c(MPI_Fint comm, int keyval, intptr_t value);
intptr_t get_in_c(MPI_Fint comm, int keyval);
intptr_t get_at_address_in_c(MPI_Fint comm, int keyval);
int get_integer_at_address_in_c(MPI_Fint comm, int keyval);
int keyval_in_c(void);

/* Uses PMPI: MPI_Comm_f2c is a macro in some versions of MPICH, and in others a function, whose
 * calls would be counted. */
static MPI_Comm comm_in_c(MPI_Fint comm)
{
    return PMPI_Comm_f2c(comm);
}

void set_in_c(MPI_Fint comm, int keyval, intptr_t value)
{
    MPI_Comm_set_attr(comm_in_c(comm), keyval, (void *)value);
}

static void *get(MPI_Fint comm, int keyval)
{
    void *value;
    int flag;
    MPI_Comm_get_attr(comm_in_c(comm), keyval, &value, &flag);
    if (!flag)
        abort();
    return value;
}

intptr_t get_in_c(MPI_Fint comm, int keyval)
{
    return (intptr_t)get(comm, keyval);
}

/* In C, an attribute that was set in Fortran is the address of its value (MPI 4.0, section
 * 19.3.7). */
intptr_t get_at_address_in_c(MPI_Fint comm, int keyval)
{
    return *(const intptr_t *)get(comm, keyval);
}

int get_integer_at_address_in_c(MPI_Fint comm, int keyval)
{
    return *(const int *)get(comm, keyval);
}

/* A delete function. Its first call, when 4712 replaces another value, sets the attribute of
 * another communicator to 4712. */
static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
    static volatile int times;
    (void)comm;
    (void)value;
    (void)extra;
    if (times)
        return MPI_SUCCESS;
    times++;
    const int result = MPI_Comm_set_attr(MPI_COMM_SELF, keyval, (void *)(intptr_t)4712);
    times++; /* prevents a tail call, which would leave no frame of this function */
    return result;
}

int keyval_in_c(void)
{
    int keyval;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, NULL);
    return keyval;
}
