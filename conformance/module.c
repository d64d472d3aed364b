/* SPDX-License-Identifier: MIT */
/* The parts of module.F90 that cannot be written in Fortran. The list of tools is
 * alpha:fortran:alpha. */
#include "report.h"
#include "tools.h"

extern int module_name_code, module_init_id, module_storage_code, module_function_code;
extern int module_wrong_id_code, module_calls, module_stored, module_binding, module_has_address;

void module_register(void);
__attribute__((constructor)) static void register_fortran(void)
{
    module_register();
}

void module_check(int rank);
void module_check(int rank)
{
    report("module.registers", module_name_code == MPI_SUCCESS && module_init_id == 2,
           "code %d, init for layer %d", module_name_code, module_init_id);
    report("module.intercepts", module_function_code == MPI_SUCCESS && module_calls == 1,
           "code %d, %d calls", module_function_code, module_calls);
    report("module.storage", module_storage_code == MPI_SUCCESS && module_stored == 42,
           "code %d, %d is stored", module_storage_code, module_stored);
    report("module.next",
           rank == 0 && entered(1, MPI_COMM_RANK_T) == 1 && entered(3, MPI_COMM_RANK_T) == 1,
           "rank %d, %d calls in the layer below", rank, entered(3, MPI_COMM_RANK_T));
    report("module.binding", module_binding == DRAFT_BINDING_FORTRAN, "%d", module_binding);
    report("module.address", module_has_address, "none");
    report("module.error", module_wrong_id_code != -1 && module_wrong_id_code != MPI_SUCCESS,
           "code %d", module_wrong_id_code);
}
