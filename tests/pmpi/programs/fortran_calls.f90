! SPDX-License-Identifier: MIT
! An old-style Fortran program, with mpif.h. Its calls reach the C functions through the Fortran bindings.
program fortran_calls
    implicit none
    include 'mpif.h'
    integer :: rank, error
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    print '(a,i0,a,i0)', 'rank ', rank, ' error ', error
    call MPI_Finalize(error)
end program
