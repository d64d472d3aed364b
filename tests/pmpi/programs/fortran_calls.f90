! SPDX-License-Identifier: MIT
! A Fortran program of the old kind: mpif.h, reaching C's MPI_X through the Fortran bindings.
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
