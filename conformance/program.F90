! SPDX-License-Identifier: MIT
! One program for the three Fortran bindings: BINDING is 1 (mpif.h), 2 (use mpi) or 3 (use mpi_f08).
program conformance
#if BINDING == 1
  implicit none
  include 'mpif.h'
#elif BINDING == 2
  use mpi
  implicit none
#else
  use mpi_f08
  implicit none
#endif
  interface
    subroutine fortran_check(step, value) bind(c)
      use iso_c_binding, only: c_int
      integer(c_int), value :: step, value
    end subroutine
  end interface
  logical :: flag
  integer :: ierror, rank, number, message, size, class
#if BINDING == 3
  type(MPI_Request) :: request
#else
  integer :: request
#endif

  call MPI_Init(ierror)
  call fortran_check(1, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call fortran_check(2, rank)
  number = 5
  call MPI_Bcast(number, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
  call fortran_check(3, number)
  call MPI_Allreduce(MPI_IN_PLACE, number, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call fortran_check(4, number)
  message = number
  number = 0
  call MPI_Isend(message, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, request, ierror)
  call MPI_Recv(number, 1, MPI_INTEGER, 0, 3, MPI_COMM_SELF, MPI_STATUS_IGNORE, ierror)
  call fortran_check(5, number)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call MPI_Type_size(MPI_INTEGER, size, ierror)
  call fortran_check(6, size)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call MPI_Bcast(number, -1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
  call MPI_Error_class(ierror, class, size)
  call fortran_check(7, merge(1, 0, class == MPI_ERR_COUNT))
  call MPI_Pcontrol(4)
  call fortran_check(8, 4)
  call MPI_Finalize(ierror)
  call fortran_check(9, ierror)
  call MPI_Finalized(flag, ierror)
  call fortran_check(10, ierror)
end program
