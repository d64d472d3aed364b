! SPDX-License-Identifier: MIT
! Shows how a Fortran program notices an error with which a tool lets MPI_Send fail. With
! MPI_ERRORS_RETURN, it notices the error only in ierr; with a handler of its own, first in the
! handler and then in ierr. A macro selects the binding, as in tests/redirect: BY_MPIF_H or BY_F08.
#if defined BY_F08
#define BINDING use mpi_f08
#define HEADER
#define HANDLE(X) type(X)
#else
#define BINDING
#define HEADER include 'mpif.h'
#define HANDLE(X) integer
#endif

subroutine handler(comm, code)
    BINDING
    implicit none
    HEADER
    HANDLE(MPI_Comm) :: comm
    integer :: code, class, error
    call MPI_Error_class(code, class, error)
    write (*, '(a,l2,a,i3)') 'handler: world', comm == MPI_COMM_WORLD, ', class', class
end subroutine

program faults
    BINDING
    implicit none
    HEADER
    external :: handler
    HANDLE(MPI_Errhandler) :: handle
    integer :: error, class, ignored, buffer(1)
    buffer = 0
    call MPI_Init(error)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
    call MPI_Send(buffer, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, error)
    call MPI_Error_class(error, class, ignored)
    write (*, '(a,i3)') 'returned class', class
    call MPI_Comm_create_errhandler(handler, handle, error)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handle, error)
    call MPI_Send(buffer, 1, MPI_INTEGER, MPI_PROC_NULL, 0, MPI_COMM_WORLD, error)
    call MPI_Error_class(error, class, ignored)
    write (*, '(a,i3)') 'returned class', class
    call MPI_Finalize(error)
end program
