! SPDX-License-Identifier: MIT
! Sends a section of an array that is not contiguous: by mpi_f08 a descriptor goes to the binding,
! which makes a datatype of it.
program section
    use mpi_f08
    implicit none
    integer :: rank, values(9), got(3)
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    values = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    got = 0
    if (rank == 0) call MPI_Send(values(1:9:4), 3, MPI_INTEGER, 1, 1, MPI_COMM_WORLD)
    if (rank == 1) then
        call MPI_Recv(got, 3, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        print '(a,3(1x,i0))', 'got', got
    end if
    call MPI_Finalize()
end program
