! SPDX-License-Identifier: MIT
! The main program and the steps in Fortran. The steps use the module mpi or, with BY_F08, mpi_f08. Each
! call is recorded in the ledger before it is made, as by M() in C.
#ifdef BY_F08
#define MODULE mpi_f08
#define COMM type(MPI_Comm)
#define REQUEST type(MPI_Request)
#define DATATYPE type(MPI_Datatype)
#define STATUS_DECLARATION type(MPI_Status)
#else
#define MODULE mpi
#define COMM integer
#define REQUEST integer
#define DATATYPE integer
#define STATUS_DECLARATION integer, dimension(MPI_STATUS_SIZE)
#endif

module storm_steps
  use, intrinsic :: iso_c_binding
  use MODULE
  implicit none
  include 'storm_fortran.inc'

  interface
    subroutine book(number) bind(C, name="storm_book")
      import :: c_int
      integer(c_int), value :: number
    end subroutine
    subroutine complain(line) bind(C, name="storm_complain")
      import :: c_int
      integer(c_int), value :: line
    end subroutine
  end interface

contains

  function comm_of(handle) result(comm)
    integer(c_int), intent(in) :: handle
    COMM :: comm
#ifdef BY_F08
    comm%MPI_VAL = handle
#else
    comm = handle
#endif
  end function

  subroutine check(truth, line)
    logical, intent(in) :: truth
    integer, intent(in) :: line
    if (.not. truth) call complain(line)
  end subroutine

  subroutine f_init(handle, rank, size, a) bind(C, name="storm_f_init")
    integer(c_int), value :: handle, rank, size
    integer(c_long), intent(in) :: a(4)
    integer :: error, provided, wanted
    if (a(1) == 0) then
      call book(N_Init)
      call MPI_Init(error)
      call check(error == MPI_SUCCESS, __LINE__)
    else
      wanted = MPI_THREAD_SINGLE
      if (a(2) == 3) wanted = MPI_THREAD_MULTIPLE
      call book(N_Init_thread)
      call MPI_Init_thread(wanted, provided, error)
      call check(error == MPI_SUCCESS .and. provided >= wanted, __LINE__)
    end if
  end subroutine

  subroutine f_finalize(handle, rank, size, a) bind(C, name="storm_f_finalize")
    integer(c_int), value :: handle, rank, size
    integer(c_long), intent(in) :: a(4)
    integer :: error
    call book(N_Finalize)
    call MPI_Finalize(error)
    call check(error == MPI_SUCCESS, __LINE__)
  end subroutine

  subroutine f_outside(handle, rank, size, a) bind(C, name="storm_f_outside")
    integer(c_int), value :: handle, rank, size
    integer(c_long), intent(in) :: a(4)
    logical :: flag
    integer :: error
    call book(N_Initialized)
    call MPI_Initialized(flag, error)
    call check(flag .eqv. (a(1) > 0), __LINE__)
  end subroutine

  subroutine f_ask(handle, rank, size, a) bind(C, name="storm_f_ask")
    integer(c_int), value :: handle, rank, size
    integer(c_long), intent(in) :: a(4)
    integer :: error, number, i
    do i = 1, int(a(1))
      number = -77
      call book(N_Comm_rank)
      call MPI_Comm_rank(comm_of(handle), number, error)
      call check(error == MPI_SUCCESS .and. number == rank, __LINE__)
      call book(N_Comm_size)
      call MPI_Comm_size(comm_of(handle), number, error)
      call check(number == size, __LINE__)
      call book(N_Wtime)
      call check(MPI_Wtime() >= 0, __LINE__)
    end do
  end subroutine

  subroutine f_sendrecv(handle, rank, size, a) bind(C, name="storm_f_sendrecv")
    integer(c_int), value :: handle, rank, size
    integer(c_long), intent(in) :: a(4)
    integer :: error, out(4), in(4), from, to
    to = mod(rank + 1, size)
    from = mod(rank + size - 1, size)
    out = int(a(1)) + rank
    in = -1
    call book(N_Sendrecv)
    call MPI_Sendrecv(out, 4, MPI_INTEGER, to, 11, in, 4, MPI_INTEGER, from, 11, &
      comm_of(handle), MPI_STATUS_IGNORE, error)
    call check(error == MPI_SUCCESS .and. all(in == int(a(1)) + from), __LINE__)
  end subroutine

  subroutine f_requests(handle, rank, size, a) bind(C, name="storm_f_requests")
    integer(c_int), value :: handle, rank, size
    integer(c_long), intent(in) :: a(4)
    integer :: error, from, to, count
    integer, asynchronous :: out(8), in(8)
    REQUEST :: requests(2)
    STATUS_DECLARATION :: status
    to = mod(rank + 1, size)
    from = mod(rank + size - 1, size)
    out = int(a(1)) * 3 + rank
    in = -1
    call book(N_Irecv)
    call MPI_Irecv(in, 8, MPI_INTEGER, from, 12, comm_of(handle), requests(1), error)
    call book(N_Isend)
    call MPI_Isend(out, 8, MPI_INTEGER, to, 12, comm_of(handle), requests(2), error)
    if (mod(a(1), 2_c_long) == 0) then
      call book(N_Waitall)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    else
      call book(N_Wait)
      call MPI_Wait(requests(2), MPI_STATUS_IGNORE, error)
      call book(N_Wait)
      call MPI_Wait(requests(1), status, error)
      call book(N_Get_count)
      call MPI_Get_count(status, MPI_INTEGER, count, error)
      call check(count == 8, __LINE__)
    end if
    call check(error == MPI_SUCCESS .and. all(in == int(a(1)) * 3 + from), __LINE__)
  end subroutine

  subroutine f_allreduce(handle, rank, size, a) bind(C, name="storm_f_allreduce")
    integer(c_int), value :: handle, rank, size
    integer(c_long), intent(in) :: a(4)
    double precision :: mine, total
    integer :: error
    total = 3
    call book(N_Allreduce)
    call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, comm_of(handle), error)
    call check(error == MPI_SUCCESS .and. nint(total) == 3 * size, __LINE__)
    mine = 2 + rank
    call book(N_Allreduce)
    call MPI_Allreduce(mine, total, 1, MPI_DOUBLE_PRECISION, MPI_MAX, comm_of(handle), error)
    call check(nint(total) == size + 1, __LINE__)
  end subroutine

  subroutine f_collectives(handle, rank, size, a) bind(C, name="storm_f_collectives")
    integer(c_int), value :: handle, rank, size
    integer(c_long), intent(in) :: a(4)
    integer :: error, data(3), all_of_them(8)
    data = -1
    if (rank == 0) data = int(a(1))
    call book(N_Bcast)
    call MPI_Bcast(data, 3, MPI_INTEGER, 0, comm_of(handle), error)
    call check(error == MPI_SUCCESS .and. all(data == int(a(1))), __LINE__)
    all_of_them = -1
    call book(N_Allgather)
    call MPI_Allgather(rank, 1, MPI_INTEGER, all_of_them, 1, MPI_INTEGER, comm_of(handle), error)
    call check(all_of_them(size) == size - 1, __LINE__)
    call book(N_Barrier)
    call MPI_Barrier(comm_of(handle), error)
    call check(error == MPI_SUCCESS, __LINE__)
  end subroutine

  subroutine f_objects(handle, rank, size, a) bind(C, name="storm_f_objects")
    integer(c_int), value :: handle, rank, size
    integer(c_long), intent(in) :: a(4)
    COMM :: other
    DATATYPE :: row
    integer :: error, bytes
    call book(N_Comm_dup)
    call MPI_Comm_dup(comm_of(handle), other, error)
    call check(error == MPI_SUCCESS, __LINE__)
    call book(N_Comm_free)
    call MPI_Comm_free(other, error)
    call book(N_Type_contiguous)
    call MPI_Type_contiguous(5, MPI_INTEGER, row, error)
    call book(N_Type_commit)
    call MPI_Type_commit(row, error)
    call book(N_Type_size)
    call MPI_Type_size(row, bytes, error)
    call check(bytes == 20, __LINE__)
    call book(N_Type_free)
    call MPI_Type_free(row, error)
    call check(error == MPI_SUCCESS, __LINE__)
  end subroutine

end module

program storm
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    function run() bind(C, name="storm_run")
      import :: c_int
      integer(c_int) :: run
    end function
  end interface
  integer(c_int) :: status
  status = run()
end program
