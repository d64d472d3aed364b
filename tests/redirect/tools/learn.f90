! SPDX-License-Identifier: MIT
! Shows the tool of constants.c the addresses of Fortran's constants, which C cannot name.
subroutine constants_pass
    implicit none
    include 'mpif.h'
    external :: constants_learn
    call constants_learn(MPI_IN_PLACE, MPI_BOTTOM, MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE, &
        MPI_ERRCODES_IGNORE, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY, MPI_ARGV_NULL, MPI_ARGVS_NULL)
end subroutine
