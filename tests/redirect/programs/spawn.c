/* SPDX-License-Identifier: MIT */
/*
 * Spawns two children, which run this program with the argument `child`, and prints the result.
 * With the argument `return`, the result may be an error; with `fatal`, an error ends the program.
 */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Comm parent, children = MPI_COMM_NULL;
    int codes[2] = {0, 0}, class = 0, length;
    char text[MPI_MAX_ERROR_STRING] = "none";
    char *arguments[] = {(char *)"child", NULL};
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        if (argc > 1 && !strcmp(argv[1], "return"))
            MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        const int result = MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF,
                                          &children, codes);
        MPI_Error_class(result, &class);
        if (result != MPI_SUCCESS)
            MPI_Error_string(result, text, &length);
        printf("class %d, children %s, codes %d %d\n%s\n", class,
               children == MPI_COMM_NULL ? "none" : "two", codes[0], codes[1], text);
    }
    MPI_Finalize();
    return 0;
}
