! SPDX-License-Identifier: MIT
! Tells the tool where Fortran's MPI_IN_PLACE is.
subroutine storm_constants()
  use mpi
  implicit none
  external :: storm_learn_constants
  call storm_learn_constants(MPI_IN_PLACE)
end subroutine
