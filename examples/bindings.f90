! SPDX-License-Identifier: MIT
! A tool in Fortran: counts the calls of MPI_Barrier and MPI_Comm_size by the language binding through which they came.
! The linker option -init makes bindings_register the constructor of the library.
module bindings_tool
  use qmpi
  implicit none

  type :: layer
    integer(c_int) :: tool_id = 0
    integer :: calls(0:2) = 0
  end type

  abstract interface
    integer(c_int) function barrier(context, comm) bind(c)
      import :: c_int, c_ptr, QMPI_HANDLE_KIND
      type(c_ptr), value :: context
      integer(QMPI_HANDLE_KIND), value :: comm
    end function

    integer(c_int) function comm_size(context, comm, size) bind(c)
      import :: c_int, c_ptr, QMPI_HANDLE_KIND
      type(c_ptr), value :: context
      integer(QMPI_HANDLE_KIND), value :: comm
      integer(c_int), intent(out) :: size
    end function

    integer(c_int) function finalize(context) bind(c)
      import :: c_int, c_ptr
      type(c_ptr), value :: context
    end function
  end interface

contains
  ! Gives the data of the layer to which a context belongs.
  function layer_of(context) result(found)
    type(c_ptr), intent(in) :: context
    type(layer), pointer :: found
    type(c_ptr) :: storage
    integer(c_int) :: tool_id, code
    code = QMPIX_Context_get_tool_id(context, tool_id)
    code = QMPI_Context_get_storage(context, tool_id, storage)
    call c_f_pointer(storage, found)
  end function

  subroutine count_call(context)
    type(c_ptr), intent(in) :: context
    type(layer), pointer :: mine
    integer(c_int) :: binding, code
    mine => layer_of(context)
    code = QMPIX_Context_get_binding(context, binding)
    mine%calls(binding) = mine%calls(binding) + 1
  end subroutine

  ! Gives the next function below the layer, and the context to call it with.
  subroutine find_next(context, number, next, next_context)
    type(c_ptr), intent(in) :: context
    integer(c_int), intent(in) :: number
    type(c_funptr), intent(out) :: next
    type(c_ptr), intent(out) :: next_context
    type(layer), pointer :: mine
    integer(c_int) :: code
    mine => layer_of(context)
    code = QMPI_Get_function(mine%tool_id, number, next, next_context)
  end subroutine

  integer(c_int) function my_barrier(context, comm) bind(c, name='') result(code)
    type(c_ptr), value :: context
    integer(QMPI_HANDLE_KIND), value :: comm
    procedure(barrier), pointer :: next
    type(c_funptr) :: address
    type(c_ptr) :: next_context
    call count_call(context)
    call find_next(context, MPI_BARRIER_T, address, next_context)
    call c_f_procpointer(address, next)
    code = next(next_context, comm)
  end function

  integer(c_int) function my_comm_size(context, comm, size) bind(c, name='') result(code)
    type(c_ptr), value :: context
    integer(QMPI_HANDLE_KIND), value :: comm
    integer(c_int), intent(out) :: size
    procedure(comm_size), pointer :: next
    type(c_funptr) :: address
    type(c_ptr) :: next_context
    call count_call(context)
    call find_next(context, MPI_COMM_SIZE_T, address, next_context)
    call c_f_procpointer(address, next)
    code = next(next_context, comm, size)
  end function

  integer(c_int) function my_finalize(context) bind(c, name='') result(code)
    use, intrinsic :: iso_fortran_env, only: error_unit
    type(c_ptr), value :: context
    type(layer), pointer :: mine
    procedure(finalize), pointer :: next
    type(c_funptr) :: address
    type(c_ptr) :: next_context
    mine => layer_of(context)
    write (error_unit, '(a, i0, 3(a, i0))') 'bindings (layer ', mine%tool_id, '): C ', mine%calls(0), &
      ', mpif.h or mpi ', mine%calls(1), ', mpi_f08 ', mine%calls(2)
    call find_next(context, MPI_FINALIZE_T, address, next_context)
    call c_f_procpointer(address, next)
    code = next(next_context)
  end function

  subroutine init(tool_id) bind(c, name='')
    integer(c_int), value :: tool_id
    type(layer), pointer :: mine
    integer(c_int) :: code
    allocate (mine)
    mine%tool_id = tool_id
    code = QMPI_Register_tool_storage(tool_id, c_loc(mine))
    code = QMPI_Register_tool_function(tool_id, MPI_BARRIER_T, c_funloc(my_barrier))
    code = QMPI_Register_tool_function(tool_id, MPI_COMM_SIZE_T, c_funloc(my_comm_size))
    code = QMPI_Register_tool_function(tool_id, MPI_FINALIZE_T, c_funloc(my_finalize))
  end subroutine

  subroutine bindings_register() bind(c)
    integer(c_int) :: code
    code = QMPI_Register_tool_name('bindings', c_funloc(init))
  end subroutine
end module
