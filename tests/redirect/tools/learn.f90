! SPDX-License-Identifier: MIT
! Passes the addresses of Fortran's constants, which have no names in C, to the tool of constants.c.
subroutine constants_pass
    implicit none
    include 'mpif.h'
    external :: constants_learn
    call constants_learn(MPI_IN_PLACE, MPI_BOTTOM, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE, &
        MPI_ERRCODES_IGNORE, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY, MPI_ARGV_NULL, MPI_ARGVS_NULL)
end subroutine
