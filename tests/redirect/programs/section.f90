! SPDX-License-Identifier: MIT
! Sends array sections that are not contiguous; the second one consists of whole columns. With mpi_f08, the
! program passes a descriptor to the binding, which creates a datatype for the section.
program section
    use mpi_f08
    implicit none
    integer :: rank, values(9), got(3), table(2, 3), columns(4)
    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    values = [1, 2, 3, 4, 5, 6, 7, 8, 9]
    got = 0
    table = reshape(values(1:6), [2, 3])
    columns = 0
    if (rank == 0) then
        call MPI_Send(values(1:9:4), 3, MPI_INTEGER, 1, 1, MPI_COMM_WORLD)
        call MPI_Send(table(:, 1:3:2), 4, MPI_INTEGER, 1, 2, MPI_COMM_WORLD)
    end if
    if (rank == 1) then
        call MPI_Recv(got, 3, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        call MPI_Recv(columns, 4, MPI_INTEGER, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
        print '(a,7(1x,i0))', 'got', got, columns
    end if
    call MPI_Finalize()
end program
