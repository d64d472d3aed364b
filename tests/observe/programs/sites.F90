! SPDX-License-Identifier: MIT
! MPI calls from a module procedure. The main program, an internal procedure and the module procedure itself call this
! procedure.
module grid
    use MODULE
    implicit none
contains
    recursive subroutine exchange(depth)
        integer, intent(in) :: depth
        real :: values(depth + 10)
        integer :: rank, error
        values = depth
        if (depth > 0) then
            call exchange(depth - 1)
        else
            call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
        end if
        if (values(1) /= depth) stop 1
    end subroutine
end module

program heat
    use grid
    implicit none
    integer :: error
    call MPI_Init(error)
    call exchange(0)
    call exchange(2)
    call step(3)
    call MPI_Finalize(error)
contains
    subroutine step(number)
        integer, intent(in) :: number
        call exchange(number / 3)
        if (number > 3) error = number
    end subroutine
end program
