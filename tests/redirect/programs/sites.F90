! SPDX-License-Identifier: MIT
! Makes calls of several kinds from procedures with known names. A macro selects the binding: BY_MPIF_H, BY_MPI
! or BY_F08.
#if defined BY_F08
#define BINDING use mpi_f08
#define HANDLE(X) type(X)
#elif defined BY_MPI
#define BINDING use mpi
#else
#define BINDING
#define HEADER include 'mpif.h'
#endif
#ifndef HEADER
#define HEADER
#endif
#ifndef HANDLE
#define HANDLE(X) integer
#endif

subroutine site_of_barrier
    BINDING
    implicit none
    HEADER
    integer :: error
    call MPI_Barrier(MPI_COMM_WORLD, error)
end subroutine

subroutine site_of_send
    BINDING
    implicit none
    HEADER
    integer :: error, value
    value = 1
    call MPI_Send(value, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_COMM_WORLD, error)
end subroutine

subroutine site_of_name
    BINDING
    implicit none
    HEADER
    integer :: error
    call MPI_Comm_set_name(MPI_COMM_WORLD, 'a name', error)
end subroutine

subroutine site_of_grid
    BINDING
    implicit none
    HEADER
    HANDLE(MPI_Comm) :: all, line
    integer :: error, extent(1)
    logical :: flag(1)
    extent = 1
    flag = .true.
    call MPI_Cart_create(MPI_COMM_SELF, 1, extent, flag, .false., all, error)
    call MPI_Cart_sub(all, flag, line, error)
end subroutine

subroutine site_of_alltoallw
    BINDING
    implicit none
    HEADER
    HANDLE(MPI_Datatype) :: types(1)
    integer :: error, out(1), in(1), counts(1), places(1)
    out = 1
    counts = 1
    places = 0
    types = MPI_INTEGER
    call MPI_Alltoallw(out, counts, places, types, in, counts, places, types, MPI_COMM_SELF, error)
end subroutine

subroutine site_of_time
    BINDING
    implicit none
    HEADER
    double precision :: now
    now = MPI_Wtime()
    if (now < 0) stop 1
end subroutine

subroutine site_of_init
    BINDING
    implicit none
    HEADER
    integer :: error
    call MPI_Init(error)
end subroutine

subroutine site_of_finalize
    BINDING
    implicit none
    HEADER
    integer :: error
    call MPI_Finalize(error)
end subroutine

program sites
    implicit none
    call site_of_init
    call site_of_barrier
    call site_of_send
    call site_of_name
    call site_of_grid
    call site_of_alltoallw
    call site_of_time
    call site_of_finalize
end program
