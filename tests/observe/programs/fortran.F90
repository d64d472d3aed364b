! SPDX-License-Identifier: MIT
! A Fortran program that writes down its calls: see expect.h. It is built with `use mpi` and, with F08
! defined, with `use mpi_f08`. Runs on two ranks. It uses what differs between C and Fortran: MPI_IN_PLACE,
! MPI_STATUS_IGNORE and array sections.
program fortran
    use MODULE
    implicit none
#ifdef F08
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    type(MPI_Comm) :: comm
#else
    integer :: request, status(MPI_STATUS_SIZE), comm
#endif
    integer :: numbers(100), more(100), ierror, rank, peer, file
    double precision :: sum(4)
    character(len=1024) :: folder
    character(len=16) :: name

    call get_command_argument(1, folder)
    call get_environment_variable('PMI_RANK', name)
    if (name == '') call get_environment_variable('OMPI_COMM_WORLD_RANK', name)
    open (newunit=file, file=trim(folder)//'/expected.'//trim(name), action='write')
    numbers = 0
    more = 0
    sum = 1

    call MPI_Init(ierror)
    call say('MPI_Init')
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call say('MPI_Comm_rank comm=*')
    peer = 1 - rank

    if (rank == 0) then
        call MPI_Send(numbers, 25, MPI_INTEGER, peer, 3, MPI_COMM_WORLD, ierror)
        call say('MPI_Send comm=* sent=100 transfers=>1/1/3/100')
        call MPI_Send(sum, 4, MPI_DOUBLE_PRECISION, MPI_PROC_NULL, 4, MPI_COMM_WORLD, ierror)
        call say('MPI_Send comm=* transfers=>null/-/4/0')
        call MPI_Isend(numbers, 10, MPI_INTEGER, peer, 5, MPI_COMM_WORLD, request, ierror)
        call say('MPI_Isend comm=* sent=40 transfers=>1/1/5/40 started=0x*')
        call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
        call say('MPI_Wait completed=0x*')
    else
        call MPI_Recv(more, 100, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierror)
        call say('MPI_Recv comm=* received=100 transfers=<0/0/3/100 received_before=400 '// &
                 'transfers_before=<any/-/any/400')
        call MPI_Recv(more, 10, MPI_INTEGER, peer, 5, MPI_COMM_WORLD, status, ierror)
        call say('MPI_Recv comm=* received=40 transfers=<0/0/5/40')
    end if

    call MPI_Allreduce(MPI_IN_PLACE, sum, 4, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
    call say('MPI_Allreduce comm=* sent=32 received=32')
    if (sum(1) /= 2) error stop 'the sum is wrong'
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_INTEGER, more, 5, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call say('MPI_Allgather comm=* sent=20 received=20')
    if (rank == 0) then
        call MPI_Gather(MPI_IN_PLACE, 0, MPI_INTEGER, more, 5, MPI_INTEGER, 0, MPI_COMM_WORLD, &
                        ierror)
        call say('MPI_Gather comm=* received=20 root=0')
    else
        call MPI_Gather(numbers, 5, MPI_INTEGER, more, 5, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
        call say('MPI_Gather comm=* sent=20 root=0')
    end if
    call MPI_Bcast(more, 7, MPI_INTEGER, 1, MPI_COMM_WORLD, ierror)
    if (rank == 1) then
        call say('MPI_Bcast comm=* sent=28 root=1')
    else
        call say('MPI_Bcast comm=* received=28 root=1')
    end if

    ! Ten elements, which are not contiguous.
    if (rank == 0) then
        call MPI_Send(numbers(1:20:2), 10, MPI_INTEGER, peer, 6, MPI_COMM_WORLD, ierror)
        call say('MPI_Send comm=* sent=40 transfers=>1/1/6/40')
    else
        call MPI_Recv(more(1:20:2), 10, MPI_INTEGER, peer, 6, MPI_COMM_WORLD, status, ierror)
        call say('MPI_Recv comm=* received=40 transfers=<0/0/6/40')
    end if

    call MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, comm, ierror)
    call say('MPI_Comm_split comm=*')
    call MPI_Sendrecv_replace(numbers, 3, MPI_INTEGER, rank, 1, rank, 1, comm, MPI_STATUS_IGNORE, &
                              ierror)
    ! `comm` has the reverse order, so its rank `rank` is the other process.
    if (rank == 0) then
        call say('MPI_Sendrecv_replace comm=* sent=12 received=12 transfers=>0/1/1/12,<0/1/1/12')
    else
        call say('MPI_Sendrecv_replace comm=* sent=12 received=12 transfers=>1/0/1/12,<1/0/1/12')
    end if
    call MPI_Comm_free(comm, ierror)
    call say('MPI_Comm_free comm=* comm_after=*')
    call MPI_Finalize(ierror)
    call say('MPI_Finalize')
    close (file)

contains

    subroutine say(line)
        character(len=*), intent(in) :: line
        if (ierror /= MPI_SUCCESS) error stop 'a call failed'
        write (file, '(a)') line
    end subroutine
end program
