! SPDX-License-Identifier: MIT
! A tool in Fortran. Its wrappers have C names; a module contains the number of calls. HANDLE is the kind
! of a C handle, which is a number in MPICH and an address in Open MPI.
module counts
    implicit none
    integer :: calls = 0
contains
    subroutine note(name)
        use, intrinsic :: iso_fortran_env, only: error_unit
        character(*), intent(in) :: name
        calls = calls + 1
        write (error_unit, '(a,i0)') 'trace: fortran ' // name // ' ', calls
        flush (error_unit)
    end subroutine
end module

integer(c_int) function wrap_barrier(comm) bind(c, name='MPI_Barrier')
    use, intrinsic :: iso_c_binding, only: c_int, HANDLE
    use counts
    implicit none
    integer(HANDLE), value :: comm
    interface
        integer(c_int) function pmpi_barrier_c(comm) bind(c, name='PMPI_Barrier')
            import c_int, HANDLE
            integer(HANDLE), value :: comm
        end function
    end interface
    call note('MPI_Barrier')
    wrap_barrier = pmpi_barrier_c(comm)
end function

integer(c_int) function wrap_rank(comm, rank) bind(c, name='MPI_Comm_rank')
    use, intrinsic :: iso_c_binding, only: c_int, HANDLE
    use counts
    implicit none
    integer(HANDLE), value :: comm
    integer(c_int) :: rank
    interface
        integer(c_int) function pmpi_rank_c(comm, rank) bind(c, name='PMPI_Comm_rank')
            import c_int, HANDLE
            integer(HANDLE), value :: comm
            integer(c_int) :: rank
        end function
    end interface
    call note('MPI_Comm_rank')
    wrap_rank = pmpi_rank_c(comm, rank)
end function
