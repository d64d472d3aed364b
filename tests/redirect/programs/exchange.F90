! SPDX-License-Identifier: MIT
! The exchange of exchange.c in Fortran. A macro selects the binding: BY_MPIF_H, BY_MPI or BY_F08. With PLUGIN,
! the exchange is a function of a shared library.
#if defined BY_F08
#define BINDING use mpi_f08
#define HANDLE(X) type(X)
#define STATUS type(MPI_Status)
#define STATUSES(N) type(MPI_Status), dimension(N)
#elif defined BY_MPI
#define BINDING use mpi
#else
#define BINDING
#define HEADER include 'mpif.h'
#endif
#ifndef HEADER
#define HEADER
#endif
#ifndef HANDLE
#define HANDLE(X) integer
#define STATUS integer, dimension(MPI_STATUS_SIZE)
#define STATUSES(N) integer, dimension(MPI_STATUS_SIZE, N)
#endif

module exchange_state
    implicit none
    integer :: rank, other, total = 0, error
end module

subroutine ring
    BINDING
    use exchange_state
    implicit none
    HEADER
    STATUS :: status
    integer :: round, token, count
    token = 0
    do round = 1, 3
        if (rank == 0) then
            token = token + round
            call MPI_Send(token, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, error)
            call MPI_Recv(token, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, status, error)
        else
            call MPI_Recv(token, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, status, error)
            token = token * 2
            call MPI_Send(token, 1, MPI_INTEGER, other, 1, MPI_COMM_WORLD, error)
        end if
    end do
    call MPI_Get_count(status, MPI_INTEGER, count, error)
    total = total + token * count
end subroutine

subroutine swap
    BINDING
    use exchange_state
    implicit none
    HEADER
    HANDLE(MPI_Request) :: requests(2)
    STATUSES(2) :: statuses
    integer, asynchronous :: out, in
    out = rank + 10
    in = 0
    call MPI_Irecv(in, 1, MPI_INTEGER, other, 2, MPI_COMM_WORLD, requests(1), error)
    call MPI_Isend(out, 1, MPI_INTEGER, other, 2, MPI_COMM_WORLD, requests(2), error)
    call MPI_Waitall(2, requests, statuses, error)
    total = total + in
end subroutine

subroutine collectives
    BINDING
    use exchange_state
    implicit none
    HEADER
    integer :: value, mine, result, both(2)
    value = merge(5, 0, rank == 0)
    mine = rank + 1
    result = 0
    both = 0
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_Barrier(MPI_COMM_WORLD, error)
    call MPI_Bcast(value, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call MPI_Reduce(mine, result, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
    total = total + value + result
    call MPI_Allreduce(mine, result, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, error)
    total = total + result
    call MPI_Gather(mine, 1, MPI_INTEGER, both, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    total = total + both(2)
    call MPI_Allgather(mine, 1, MPI_INTEGER, both, 1, MPI_INTEGER, MPI_COMM_WORLD, error)
    total = total + both(2)
    call MPI_Scatter(both, 1, MPI_INTEGER, result, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    total = total + result
    call MPI_Scan(mine, result, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    total = total + result
end subroutine

subroutine every_type
    BINDING
    use exchange_state
    implicit none
    HEADER
    integer :: out(2), in(2), counts(2), places(2)
    HANDLE(MPI_Datatype) :: types(2)
    out = [rank + 20, rank + 30]
    in = 0
    counts = 1
    places = [0, 4]
    types = MPI_INTEGER
    call MPI_Alltoallw(out, counts, places, types, in, counts, places, types, MPI_COMM_WORLD, error)
    total = total + sum(in)
end subroutine

subroutine grid
    BINDING
    use exchange_state
    implicit none
    HEADER
    HANDLE(MPI_Comm) :: all, line
    integer :: extent(1), dimensions, source, target, size
    logical :: around(1), remain(1)
    extent = 2
    around = .true.
    remain = .true.
    call MPI_Cart_create(MPI_COMM_WORLD, 1, extent, around, .false., all, error)
    call MPI_Cartdim_get(all, dimensions, error)
    call MPI_Cart_shift(all, 0, 1, source, target, error)
    call MPI_Cart_sub(all, remain, line, error)
    call MPI_Comm_size(line, size, error)
    call MPI_Comm_free(line, error)
    call MPI_Comm_free(all, error)
    total = total + dimensions + source + target + size
end subroutine

subroutine graph
    BINDING
    use exchange_state
    implicit none
    HEADER
    HANDLE(MPI_Comm) :: neighborhood
    HANDLE(MPI_Datatype) :: types(1)
    integer :: neighbors(1), weights(1), counts(1), in, out, sent(1), got(1)
    integer(MPI_ADDRESS_KIND) :: places(1)
    logical :: weighted
    neighbors = other
    weights = 1
    counts = 1
    places = 0
    types = MPI_INTEGER
    sent = rank + 40
    got = 0
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, neighbors, weights, 1, neighbors, &
        weights, MPI_INFO_NULL, .false., neighborhood, error)
    call MPI_Dist_graph_neighbors_count(neighborhood, in, out, weighted, error)
    call MPI_Neighbor_alltoallw(sent, counts, places, types, got, counts, places, types, &
        neighborhood, error)
    call MPI_Comm_free(neighborhood, error)
    total = total + in + out + got(1)
end subroutine

subroutine half
    BINDING
    use exchange_state
    implicit none
    HEADER
    HANDLE(MPI_Comm) :: part
    integer :: size
    call MPI_Comm_split(MPI_COMM_WORLD, rank, 0, part, error)
    call MPI_Comm_size(part, size, error)
    call MPI_Comm_free(part, error)
    total = total + size
end subroutine

subroutine every_second
    BINDING
    use exchange_state
    implicit none
    HEADER
    HANDLE(MPI_Datatype) :: vector
    STATUS :: status
    integer :: out(3), in(2), size
    out = [rank + 50, 0, rank + 60]
    in = 0
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, vector, error)
    call MPI_Type_commit(vector, error)
    call MPI_Type_size(vector, size, error)
    call MPI_Sendrecv(out, 1, vector, other, 3, in, 2, MPI_INTEGER, other, 3, MPI_COMM_WORLD, &
        status, error)
    call MPI_Type_free(vector, error)
    total = total + size + sum(in)
end subroutine

subroutine file(folder)
    BINDING
    use exchange_state
    implicit none
    HEADER
    character(*), intent(in) :: folder
    HANDLE(MPI_File) :: handle
    integer(MPI_OFFSET_KIND) :: start
    character(4096) :: name
    integer :: values(3)
    values = [7, 8, 9]
    start = 0
    write (name, '(a,a,i0)') folder, '/file.', rank
    call MPI_File_open(MPI_COMM_SELF, trim(name), MPI_MODE_CREATE + MPI_MODE_WRONLY, &
        MPI_INFO_NULL, handle, error)
    call MPI_File_write_at(handle, start, values, 3, MPI_INTEGER, MPI_STATUS_IGNORE, error)
    call MPI_File_close(handle, error)
end subroutine

subroutine words
    BINDING
    use exchange_state
    implicit none
    HEADER
    HANDLE(MPI_Info) :: info
    character(MPI_MAX_OBJECT_NAME) :: name
    integer :: length
    call MPI_Comm_set_name(MPI_COMM_WORLD, 'everybody', error)
    call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, error)
    call MPI_Info_create(info, error)
    call MPI_Info_set(info, 'key', 'value', error)
    call MPI_Info_free(info, error)
    total = total + length
end subroutine

#ifdef PLUGIN
integer(c_int) function exchange() bind(c)
    use, intrinsic :: iso_c_binding
#else
program exchange
#endif
    BINDING
    use exchange_state
    implicit none
    HEADER
    character(4000) :: folder
    integer :: size
    double precision :: start
#ifdef PLUGIN
    ! Command arguments are not available if the main program is not in Fortran.
    call get_environment_variable('REDIRECT_FOLDER', folder)
#else
    call get_command_argument(1, folder)
#endif
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, size, error)
    if (size /= 2) stop 96
    other = 1 - rank
    start = MPI_Wtime()
    call ring
    call swap
    call collectives
    call every_type
    call grid
    call graph
    call half
    call every_second
    call file(trim(folder))
    call words
    if (MPI_Wtime() < start) total = -1
    call MPI_Finalize(error)
    print '(a,i0,a,i0)', 'rank ', rank, ' got ', total
#ifdef PLUGIN
    exchange = 0
end function
#else
end program
#endif
