! SPDX-License-Identifier: MIT
! Passes the address of Fortran's MPI_IN_PLACE to fortran_wrappers.c.
subroutine storm_constants()
  use mpi
  implicit none
  external :: storm_learn_constants
  call storm_learn_constants(MPI_IN_PLACE)
end subroutine
