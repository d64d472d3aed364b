! SPDX-License-Identifier: MIT
! A tool in Fortran, which uses the module of an implementation, and the program that runs under it: see module.c.
module conformance_tool
  use qmpi
  implicit none

  abstract interface
    integer(c_int) function comm_rank(context, comm, rank) bind(c)
      import :: c_int, c_ptr, QMPI_HANDLE_KIND
      type(c_ptr), value :: context
      integer(QMPI_HANDLE_KIND), value :: comm
      integer(c_int), intent(out) :: rank
    end function
  end interface

  integer(c_int), target, save :: storage = 42

  ! What the tool has seen; module.c judges it.
  integer(c_int), bind(c) :: module_name_code = -1, module_init_id = 0, module_storage_code = -1
  integer(c_int), bind(c) :: module_function_code = -1, module_wrong_id_code = -1
  integer(c_int), bind(c) :: module_calls = 0, module_stored = 0, module_binding = -1, module_has_address = 0

contains
  integer(c_int) function tool_comm_rank(context, comm, rank) bind(c, name='') result(code)
    type(c_ptr), value :: context
    integer(QMPI_HANDLE_KIND), value :: comm
    integer(c_int), intent(out) :: rank
    procedure(comm_rank), pointer :: next
    integer(c_int), pointer :: value
    type(c_funptr) :: address
    type(c_ptr) :: next_context, found, caller
    module_calls = module_calls + 1
    if (QMPI_Context_get_storage(context, module_init_id, found) == 0) then
      call c_f_pointer(found, value)
      module_stored = value
    end if
    code = QMPIX_Context_get_binding(context, module_binding)
    code = QMPI_Context_get_calling_address(context, module_init_id, caller)
    if (code == 0 .and. c_associated(caller)) module_has_address = 1
    code = QMPI_Get_function(module_init_id, MPI_COMM_RANK_T, address, next_context)
    call c_f_procpointer(address, next)
    code = next(next_context, comm, rank)
  end function

  subroutine init(tool_id) bind(c, name='')
    integer(c_int), value :: tool_id
    module_init_id = tool_id
    module_storage_code = QMPI_Register_tool_storage(tool_id, c_loc(storage))
    module_function_code = QMPI_Register_tool_function(tool_id, MPI_COMM_RANK_T, c_funloc(tool_comm_rank))
    module_wrong_id_code = QMPI_Register_tool_function(-1_c_int, MPI_COMM_RANK_T, c_funloc(tool_comm_rank))
  end subroutine

  ! The constructor in module.c calls this.
  subroutine module_register() bind(c)
    module_name_code = QMPI_Register_tool_name('fortran', c_funloc(init))
  end subroutine
end module

program conformance
  use mpi
  implicit none
  interface
    subroutine module_check(rank) bind(c)
      use iso_c_binding, only: c_int
      integer(c_int), value :: rank
    end subroutine
  end interface
  integer :: ierror, rank = -1
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call module_check(rank)
  call MPI_Finalize(ierror)
end program
