! SPDX-License-Identifier: MIT
! Calls with Fortran constants that are identified by their addresses. A macro selects the binding: BY_MPIF_H,
! BY_MPI or BY_F08. Arguments are steps: initialized, init, thread (MPI_Init_thread), init_in_c, numbers, spawn,
! off and on (which switch layer 1), finalize. Without arguments, the program is a process that `spawn` has created.
#if defined BY_F08
#define BINDING use mpi_f08
#define HANDLE(X) type(X)
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
#endif

subroutine begin(step)
    BINDING
    implicit none
    HEADER
    character(*) :: step
    integer :: error, provided
    logical :: flag
    select case (step)
    case ('initialized')
        call MPI_Initialized(flag, error)
        print '(a,l1)', 'initialized ', flag
    case ('init')
        call MPI_Init(error)
    case ('thread')
        call MPI_Init_thread(MPI_THREAD_SINGLE, provided, error)
    end select
end subroutine

subroutine numbers
    BINDING
    implicit none
    HEADER
    integer :: error, none(1)
    integer(MPI_ADDRESS_KIND) :: places(1)
    real :: number
    integer, target, asynchronous :: out(2), in(2)
    HANDLE(MPI_Datatype) :: types(1), placed
    HANDLE(MPI_Request) :: requests(2)
    HANDLE(MPI_Comm) :: graph

    number = 3.0
    call MPI_Allreduce(MPI_IN_PLACE, number, 1, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, error)
    print '(a,f3.1)', 'in place ', number

    out = [42, 43]
    types = MPI_INTEGER
    call MPI_Get_address(out(2), places(1), error)
    call MPI_Type_create_struct(1, [1], places, types, placed, error)
    call MPI_Type_commit(placed, error)
    call MPI_Isend(out, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(1), error)
    call MPI_Recv(in, 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE, error)
    call MPI_Irecv(in(2), 1, MPI_INTEGER, 0, 1, MPI_COMM_SELF, requests(2), error)
    call MPI_Send(MPI_BOTTOM, 1, placed, 0, 1, MPI_COMM_SELF, error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call MPI_Type_free(placed, error)
    print '(a,2(1x,i0))', 'received', in

    none = 0
    call MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 1, none, MPI_UNWEIGHTED, 1, none, &
        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, error)
    call MPI_Comm_free(graph, error)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_SELF, 0, none, MPI_WEIGHTS_EMPTY, 0, none, &
        MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., graph, error)
    call MPI_Comm_free(graph, error)
end subroutine

! Spawns two jobs, one after the other. Each is a process that runs this program without arguments.
subroutine spawn
    BINDING
    implicit none
    HEADER
    character(4096) :: program(1)
    HANDLE(MPI_Comm) :: children
    HANDLE(MPI_Info) :: infos(1)
    integer :: error, size
    call get_command_argument(0, program(1))
    infos = MPI_INFO_NULL
    call MPI_Comm_spawn(program(1), MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, children, &
        MPI_ERRCODES_IGNORE, error)
    call MPI_Comm_remote_size(children, size, error)
    print '(a,i0)', 'spawned ', size
    call MPI_Comm_disconnect(children, error)
    call MPI_Comm_spawn_multiple(1, program, MPI_ARGVS_NULL, [1], infos, 0, MPI_COMM_WORLD, &
        children, MPI_ERRCODES_IGNORE, error)
    call MPI_Comm_remote_size(children, size, error)
    print '(a,i0)', 'spawned ', size
    call MPI_Comm_disconnect(children, error)
end subroutine

subroutine child
    BINDING
    implicit none
    HEADER
    HANDLE(MPI_Comm) :: parent
    integer :: error
    call MPI_Init(error)
    call MPI_Comm_get_parent(parent, error)
    call MPI_Comm_disconnect(parent, error)
    call MPI_Finalize(error)
end subroutine

subroutine finish
    BINDING
    implicit none
    HEADER
    integer :: error
    call MPI_Finalize(error)
end subroutine

program constants
    use, intrinsic :: iso_c_binding, only: c_int
    implicit none
    interface
        subroutine init_in_c() bind(c)
        end subroutine
        subroutine switch_layer(enabled) bind(c)
            import :: c_int
            integer(c_int), value :: enabled
        end subroutine
    end interface
    character(20) :: step
    integer :: i
    if (command_argument_count() == 0) call child
    do i = 1, command_argument_count()
        call get_command_argument(i, step)
        select case (step)
        case ('init_in_c')
            call init_in_c
        case ('numbers')
            call numbers
        case ('spawn')
            call spawn
        case ('off')
            call switch_layer(0_c_int)
        case ('on')
            call switch_layer(1_c_int)
        case ('finalize')
            call finish
        case default
            call begin(trim(step))
        end select
    end do
end program
