! SPDX-License-Identifier: MIT
! A Fortran program that switches layer 1 off and on between its calls of MPI_Comm_rank, and prints the ranks.
program switch_fortran
    use, intrinsic :: iso_c_binding, only: c_int
    implicit none
    include 'mpif.h'
    interface
        integer(c_int) function set_enabled(tool_id, enabled) bind(c, name='QMPIX_Tool_set_enabled')
            import :: c_int
            integer(c_int), value :: tool_id, enabled
        end function
    end interface
    integer :: rank(4), error, i
    call MPI_Init(error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank(1), error)
    do i = 2, 4
        error = set_enabled(1_c_int, int(mod(i, 2), c_int))
        if (error /= MPI_SUCCESS) print '(a,i0)', 'error ', error
        call MPI_Comm_rank(MPI_COMM_WORLD, rank(i), error)
    end do
    print '(a,4(1x,i0))', 'ranks', rank
    call MPI_Finalize(error)
end program
