/* SPDX-License-Identifier: MIT */
/* The C part of attributes.F90: it sets and gets attributes that Fortran gets and sets. */
#include <mpi.h>

#include <stdint.h>
#include <stdlib.h>

void set_in_c(MPI_Fint comm, int keyval, intptr_t value);
intptr_t get_in_c(MPI_Fint comm, int keyval);
intptr_t get_at_address_in_c(MPI_Fint comm, int keyval);
int get_integer_at_address_in_c(MPI_Fint comm, int keyval);
int keyval_in_c(void);

/* Uses PMPI, because MPI_Comm_f2c is a function, which would be counted, in some versions of MPICH,
 * and a macro in others. */
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

/* MPI 4.0, section 19.3.7: in C, an attribute that was set in Fortran is the address of a value. */
intptr_t get_at_address_in_c(MPI_Fint comm, int keyval)
{
    return *(const intptr_t *)get(comm, keyval);
}

int get_integer_at_address_in_c(MPI_Fint comm, int keyval)
{
    return *(const int *)get(comm, keyval);
}

/* At the first call, when 4712 replaces another value: sets 4712 on another communicator. */
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
    times++; /* after the call, because a tail call might leave no frame of this function */
    return result;
}

int keyval_in_c(void)
{
    int keyval;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, NULL);
    return keyval;
}
