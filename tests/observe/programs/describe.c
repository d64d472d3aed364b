/* SPDX-License-Identifier: MIT */
/*
 * Prints the results of QMPIX_Function_describe: a line `function|…` for each function of this MPI,
 * followed by a line `parameter|…` for each of its parameters. Prints `wrong|…` for each wrong
 * result, for example if a number without a function of this MPI is not an error.
 */
#include <qmpi/observer.h>

#include <stdio.h>

int main(void)
{
    const QMPIX_Function *function = NULL;
    for (int number = 0; number < MPI_LAST_FUNC; number++) {
        const enum QMPI_Functions_enum fn = (enum QMPI_Functions_enum)number;
        int exists = 0;
        const QMPIX_Function *again = NULL;
        QMPIX_Function_exists(fn, &exists);
        function = NULL;
        const int error = QMPIX_Function_describe(fn, &function);
        if (!exists) {
            if (error != MPI_ERR_ARG || function)
                printf("wrong|%d|a function that this MPI lacks is described\n", number);
            continue;
        }
        if (error != MPI_SUCCESS || !function || function->number != fn) {
            printf("wrong|%d|not described\n", number);
            continue;
        }
        if (QMPIX_Function_describe(fn, &again) != MPI_SUCCESS || again != function)
            printf("wrong|%d|a second call does not return the same description\n", number);
        printf("function|%d|%s|%u|%d|%d\n", number, function->name, function->group,
               (int)function->result, function->parameter_count);
        for (int i = 0; i < function->parameter_count; i++) {
            const QMPIX_Parameter *parameter = &function->parameters[i];
            printf("parameter|%s|%s|%d|%d|%d|%d|%zu\n", parameter->name, parameter->type,
                   (int)parameter->kind, parameter->indirection, parameter->is_array,
                   parameter->is_const, parameter->size);
        }
    }
    function = NULL;
    if (QMPIX_Function_describe(MPI_LAST_FUNC, &function) != MPI_ERR_ARG ||
        QMPIX_Function_describe((enum QMPI_Functions_enum) - 1, &function) != MPI_ERR_ARG ||
        QMPIX_Function_describe((enum QMPI_Functions_enum)1000000, &function) != MPI_ERR_ARG ||
        function || QMPIX_Function_describe(MPI_SEND_T, NULL) != MPI_ERR_ARG)
        printf("wrong|-|bad arguments are no errors\n");
    return 0;
}
