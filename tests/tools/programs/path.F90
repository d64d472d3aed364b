! SPDX-License-Identifier: MIT
! A program whose critical path is known, like those of path.c: with two ranks, the path has 8 units
! of work. A macro selects the Fortran binding: BY_MPIF_H, BY_MPI or BY_F08.
program path
#if defined BY_F08
  use mpi_f08
#elif defined BY_MPI
  use mpi
#endif
  use, intrinsic :: iso_c_binding
  implicit none
#ifdef BY_MPIF_H
  include 'mpif.h'
#endif
#ifdef BY_F08
#define REQUEST_TYPE type(MPI_Request)
#else
#define REQUEST_TYPE integer
#endif
  interface
    integer(c_int) function usleep(microseconds) bind(C)
      import :: c_int
      integer(c_int), value :: microseconds
    end function
  end interface
  integer, parameter :: unit = 60000
  integer :: rank, other, ierror, i, value(2), sum
  double precision :: excess
  REQUEST_TYPE :: requests(2)

  excess = 0
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  other = 1 - rank
  value = rank
  do i = 1, 3
    if (i > 1 .or. rank == 1) then
      if (i == 2) then
        call MPI_Recv(value, 1, MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      else
        call MPI_Recv(value, 1, MPI_INTEGER, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      end if
    end if
    call work()
    if (i < 3 .or. rank == 0) call MPI_Send(value, 1, MPI_INTEGER, other, 5, MPI_COMM_WORLD, ierror)
  end do
  if (rank == 0) call work()
  call MPI_Irecv(value(1), 1, MPI_INTEGER, other, 6, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Isend(value(2), 1, MPI_INTEGER, other, 6, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  if (rank == 1) call work()
  call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Bcast(sum, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
  if (rank == 1) call work()
  print '(a, f12.9)', 'excess ', excess
  call MPI_Finalize(ierror)
contains
  subroutine work()
    integer(kind=8) :: begin, now, rate
    integer :: ignored
    call system_clock(begin, rate)
    ignored = usleep(int(unit, c_int))
    call system_clock(now)
    excess = excess + dble(now - begin) / dble(rate) - dble(unit) * 1d-6
  end subroutine
end program
