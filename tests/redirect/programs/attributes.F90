! SPDX-License-Identifier: MIT
! Sets and gets attributes in Fortran, and prints the values. A macro selects the binding: BY_MPIF_H, BY_MPI
! or BY_F08. attributes.c sets and gets the same attributes in C.
#if defined BY_F08
#define BINDING use mpi_f08
#define HANDLE(X) type(X)
#define NUMBER(X) X%MPI_VAL
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
#define NUMBER(X) X
#endif

module attributes_in_c
    use, intrinsic :: iso_c_binding
    implicit none
    interface
        subroutine set_in_c(comm, keyval, value) bind(c)
            import
            integer(c_int), value :: comm, keyval
            integer(c_intptr_t), value :: value
        end subroutine
        integer(c_intptr_t) function get_in_c(comm, keyval) bind(c)
            import
            integer(c_int), value :: comm, keyval
        end function
        integer(c_intptr_t) function get_at_address_in_c(comm, keyval) bind(c)
            import
            integer(c_int), value :: comm, keyval
        end function
        integer(c_int) function get_integer_at_address_in_c(comm, keyval) bind(c)
            import
            integer(c_int), value :: comm, keyval
        end function
        integer(c_int) function keyval_in_c() bind(c)
            import
        end function
    end interface
end module

module attributes_state
    implicit none
    integer :: error, other_keyval
end module

subroutine print_attribute(name, keyval)
    BINDING
    use attributes_state
    implicit none
    HEADER
    character(*) :: name
    integer :: keyval
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    value = -7
    call MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, value, flag, error)
    if (flag) then
        print '(a,a,i0)', name, ' ', value
    else
        print '(a,a)', name, ' none'
    end if
end subroutine

! A delete function, which MPI calls within another call, and which makes an MPI call itself.
subroutine forget(comm, keyval, value, extra, error)
    BINDING
    use attributes_state, only: other_keyval
    implicit none
    HEADER
    HANDLE(MPI_Comm) :: comm
    integer :: keyval, error
    integer(MPI_ADDRESS_KIND) :: value, extra, found
    logical :: flag
    call MPI_Comm_get_attr(comm, other_keyval, found, flag, error)
    if (.not. flag) found = 0
    print '(a,i0,a,i0,a,l1,a,i0)', 'deleted ', value, ', extra ', extra, ', other ', flag, ' ', found
    error = MPI_SUCCESS
end subroutine

subroutine communicators
    BINDING
    use attributes_in_c
    use attributes_state
    implicit none
    HEADER
    HANDLE(MPI_Comm) :: copy
    external :: forget
    integer :: keyval, shared
    integer(MPI_ADDRESS_KIND) :: value, extra
    logical :: flag
    extra = 99
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, other_keyval, extra, error)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, forget, keyval, extra, error)
    call print_attribute('nothing yet', keyval)
    value = 5 + 2_MPI_ADDRESS_KIND ** 40
    call MPI_Comm_set_attr(MPI_COMM_WORLD, other_keyval, -value, error)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, error)
    call print_attribute('set', keyval)
    print '(a,i0)', 'at the address that C gets ', get_at_address_in_c(NUMBER(MPI_COMM_WORLD), keyval)
    call MPI_Comm_dup(MPI_COMM_WORLD, copy, error)
    value = 0
    call MPI_Comm_get_attr(copy, keyval, value, flag, error)
    print '(a,l1,a,i0)', 'copied ', flag, ' ', value
    call MPI_Comm_get_attr(copy, other_keyval, value, flag, error)
    print '(a,l1)', 'not copied ', flag
    value = 6
    call MPI_Comm_set_attr(copy, keyval, value, error)
    call MPI_Comm_free(copy, error)
    call set_in_c(NUMBER(MPI_COMM_WORLD), keyval, 4096_c_intptr_t)
    call print_attribute('set in C', keyval)
    ! When the second value replaces the first one, MPI calls a delete function in C, which sets the same attribute
    ! of MPI_COMM_SELF.
    shared = keyval_in_c()
    value = 4711
    call MPI_Comm_set_attr(MPI_COMM_WORLD, shared, value, error)
    value = 4712
    call MPI_Comm_set_attr(MPI_COMM_WORLD, shared, value, error)
    call print_attribute('shared', shared)
    print '(a,i0)', 'set while that was set ', get_in_c(NUMBER(MPI_COMM_SELF), shared)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, error)
    call print_attribute('deleted', keyval)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, error)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, value, flag, error)
    print '(a,l1)', 'no keyval is an error ', error /= MPI_SUCCESS
    call MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, error)
    print '(a,l1)', 'so is setting MPI_TAG_UB ', error /= MPI_SUCCESS
end subroutine

subroutine types
    BINDING
    use attributes_state
    implicit none
    HEADER
    integer :: keyval
    integer(MPI_ADDRESS_KIND) :: value, extra
    logical :: flag
    extra = 0
    call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, keyval, extra, error)
    value = -3 - 2_MPI_ADDRESS_KIND ** 33
    call MPI_Type_set_attr(MPI_INTEGER, keyval, value, error)
    value = 0
    call MPI_Type_get_attr(MPI_INTEGER, keyval, value, flag, error)
    print '(a,l1,a,i0)', 'type ', flag, ' ', value
    call MPI_Type_delete_attr(MPI_INTEGER, keyval, error)
end subroutine

subroutine windows
    BINDING
    use, intrinsic :: iso_c_binding, only: c_loc, c_intptr_t
    use attributes_state
    implicit none
    HEADER
    HANDLE(MPI_Win) :: window
    ! As MPI_WIN_BASE, MPICH returns the address without its last four bits. In allocated memory, these are 0.
    integer, allocatable, target, asynchronous :: memory(:)
    integer :: keyval
    integer(MPI_ADDRESS_KIND) :: size, value, extra
    logical :: flag
    allocate(memory(6))
    size = 24
    extra = 0
    call MPI_Win_create(memory, size, 4, MPI_INFO_NULL, MPI_COMM_SELF, window, error)
    call MPI_Win_get_attr(window, MPI_WIN_BASE, value, flag, error)
    print '(a,l1,l1)', 'base ', flag, value == transfer(c_loc(memory), value)
    call MPI_Win_get_attr(window, MPI_WIN_SIZE, value, flag, error)
    print '(a,l1,a,i0)', 'size ', flag, ' ', value
    call MPI_Win_get_attr(window, MPI_WIN_DISP_UNIT, value, flag, error)
    print '(a,l1,a,i0)', 'unit ', flag, ' ', value
    call MPI_Win_get_attr(window, MPI_WIN_CREATE_FLAVOR, value, flag, error)
    print '(a,l1,l1)', 'flavor ', flag, value == MPI_WIN_FLAVOR_CREATE
    call MPI_Win_get_attr(window, MPI_WIN_MODEL, value, flag, error)
    print '(a,l1,l1)', 'model ', flag, value == MPI_WIN_UNIFIED .or. value == MPI_WIN_SEPARATE
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, keyval, extra, error)
    value = 8 + 2_MPI_ADDRESS_KIND ** 35
    call MPI_Win_set_attr(window, keyval, value, error)
    value = 0
    call MPI_Win_get_attr(window, keyval, value, flag, error)
    print '(a,l1,a,i0)', 'window ', flag, ' ', value
    call MPI_Win_free(window, error)
end subroutine

#ifndef BY_F08
! The attribute functions of MPI 1, whose values are default integers.
subroutine integers
    BINDING
    use attributes_in_c
    use attributes_state
    implicit none
    HEADER
    integer :: keyval, value, extra
    logical :: flag
    integer(MPI_ADDRESS_KIND) :: long
    extra = 0
    call MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, error)
    print '(a,l1,a,i0)', 'integer MPI_TAG_UB ', flag, ' ', value
    call MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, keyval, extra, error)
    call MPI_Attr_get(MPI_COMM_WORLD, keyval, value, flag, error)
    print '(a,l1)', 'integer yet ', flag
    call MPI_Attr_put(MPI_COMM_WORLD, keyval, -17, error)
    value = 0
    call MPI_Attr_get(MPI_COMM_WORLD, keyval, value, flag, error)
    print '(a,l1,a,i0)', 'integer ', flag, ' ', value
    print '(a,i0)', 'integer in C ', get_integer_at_address_in_c(MPI_COMM_WORLD, keyval)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, long, flag, error)
    print '(a,l1,a,i0)', 'long ', flag, ' ', long
    long = 18
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, long, error)
    call MPI_Attr_get(MPI_COMM_WORLD, keyval, value, flag, error)
    print '(a,l1,a,i0)', 'integer of a long ', flag, ' ', value
    call MPI_Attr_delete(MPI_COMM_WORLD, keyval, error)
end subroutine
#endif

program attributes
    BINDING
    use attributes_state
    implicit none
    HEADER
    call MPI_Init(error)
    call print_attribute('MPI_TAG_UB', MPI_TAG_UB)
    call print_attribute('MPI_HOST', MPI_HOST)
    call print_attribute('MPI_IO', MPI_IO)
    call print_attribute('MPI_WTIME_IS_GLOBAL', MPI_WTIME_IS_GLOBAL)
    ! Does not query MPI_UNIVERSE_SIZE, for which MPICH would start a launcher if there is none.
    call print_attribute('MPI_LASTUSEDCODE', MPI_LASTUSEDCODE)
    call print_attribute('MPI_APPNUM', MPI_APPNUM)
    call communicators
    call types
    call windows
#ifndef BY_F08
    call integers
#endif
    call MPI_Finalize(error)
end program
