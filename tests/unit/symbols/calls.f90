! SPDX-License-Identifier: MIT
module grid
contains
    subroutine exchange(n)
        integer, intent(inout) :: n
        call where()    ! line: exchange
        n = n + 1
    end subroutine exchange
end module grid

program heat
    use grid
    integer :: n
    n = 0
    call exchange(n)
    call where()        ! line: heat
    call inner(n)
    if (n /= 2) stop 1
contains
    subroutine inner(m)
        integer, intent(inout) :: m
        call where()    ! line: inner
        m = m + 1
    end subroutine inner
end program heat
