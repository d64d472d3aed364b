! SPDX-License-Identifier: MIT
! Two calls of MPI_Barrier and one of MPI_Comm_size, by one binding: BINDING is 1 (mpif.h), 2 (mpi) or 3 (mpi_f08).
program barrier
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
  integer :: ierror, ranks
  call MPI_Init(ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
end program
