! SPDX-License-Identifier: MIT
! Calls of MPI in Fortran, for the steps of tools_starving_fortran.
subroutine fortran_init() bind(c)
    implicit none
    include 'mpif.h'
    integer :: error
    call MPI_Init(error)
end subroutine

subroutine fortran_barrier() bind(c)
    implicit none
    include 'mpif.h'
    integer :: error
    call MPI_Barrier(MPI_COMM_WORLD, error)
end subroutine
