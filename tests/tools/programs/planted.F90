! SPDX-License-Identifier: MIT
! Programs with one problem each, like those of planted.c: planted CASE.
#ifdef BY_MPIF_H
#define STATUS_DECLARATION integer :: status(MPI_STATUS_SIZE)
#else
#define STATUS_DECLARATION type(MPI_Status) :: status
#endif
program planted
#ifdef BY_MPIF_H
  implicit none
  include 'mpif.h'
#else
  use mpi_f08
  implicit none
#endif
  integer :: rank, ierror, i
  character(len=32) :: name
  call get_command_argument(1, name)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  do i = 1, 10
    select case (name)
    case ('fortran_sender')
      call sender()
    case ('fortran_barrier')
      call barrier()
    case ('fortran_reduce')
      call reduce()
    case ('fortran_startup')
      call startup(i == 1)
    end select
  end do
  call MPI_Finalize(ierror)
contains
  ! Ranks sleep instead of computing, as in planted.c.
  subroutine work(seconds)
    use, intrinsic :: iso_c_binding, only: c_int
    double precision, intent(in) :: seconds
    integer(c_int) :: slept
    interface
      function usleep(microseconds) bind(c) result(error)
        import :: c_int
        integer(c_int), value :: microseconds
        integer(c_int) :: error
      end function
    end interface
    slept = usleep(int(seconds * 1d6, c_int))
  end subroutine

  subroutine sender()
    STATUS_DECLARATION
    integer :: value(2)
    value = rank
    if (rank == 0) then
      call work(0.03d0)
      call MPI_Send(value, 2, MPI_INTEGER, 1, 0, MPI_COMM_WORLD, ierror)
    else if (rank == 1) then
      call MPI_Recv(value, 2, MPI_INTEGER, 0, 0, MPI_COMM_WORLD, status, ierror) ! fortran_sender
    end if
  end subroutine

  subroutine barrier()
    if (rank == 1) call work(0.03d0)
    call MPI_Barrier(MPI_COMM_WORLD, ierror) ! fortran_barrier
  end subroutine

  subroutine reduce()
    double precision :: mine, total
    mine = rank
    if (rank == 0) call work(0.03d0)
    call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror) ! fortran_reduce
  end subroutine

  subroutine startup(first)
    logical, intent(in) :: first
    integer :: value(2)
    value = rank
    if (first) then
      if (rank == 0) call work(0.3d0)
      call MPI_Bcast(value, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror) ! fortran_startup
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call work(0.06d0)
  end subroutine
end program
