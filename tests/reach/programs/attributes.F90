! SPDX-License-Identifier: MIT
! Attributes: MPICH's bindings do not reach them through the C functions of these names.
program attributes
#ifdef BY_F08
    use mpi_f08
    implicit none
#else
    implicit none
    include 'mpif.h'
#endif
    integer :: error
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Init(error)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, error)
    print '(a,l1)', 'attribute ', flag
    call MPI_Finalize(error)
end program
