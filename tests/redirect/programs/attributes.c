/* SPDX-License-Identifier: MIT */
/* The part in C of attributes.F90: it sets and gets the attributes that Fortran gets and sets. */
#include <mpi.h>

#include <stdint.h>
#include <stdlib.h>

void set_in_c(MPI_Fint comm, int keyval, intptr_t value);
intptr_t get_in_c(MPI_Fint comm, int keyval);
intptr_t get_at_address_in_c(MPI_Fint comm, int keyval);
int get_integer_at_address_in_c(MPI_Fint comm, int keyval);
int keyval_in_c(void);

/* Of PMPI: in some versions of MPICH it is a function, which would be counted, and a macro in
 * others. */
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

/* MPI 4.0, section 19.3.7: to C an attribute of Fortran's is the address of a value. */
intptr_t get_at_address_in_c(MPI_Fint comm, int keyval)
{
    return *(const intptr_t *)get(comm, keyval);
}

int get_integer_at_address_in_c(MPI_Fint comm, int keyval)
{
    return *(const int *)get(comm, keyval);
}

/* The first time, when 4712 takes another's place: sets 4712 on another communicator. */
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
    times++; /* after the call, which else might leave no frame of this function's */
    return result;
}

int keyval_in_c(void)
{
    int keyval;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, NULL);
    return keyval;
}
