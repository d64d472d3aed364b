/* SPDX-License-Identifier: MIT */
/*
 * Causes MPI errors and prints what the application sees: error classes, their texts, and the
 * calls of its own error handler. With the argument `fatal`, the default handler ends the job;
 * without it, the program ends with status 3.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int handled;

static void handler(MPI_Comm *comm, int *code, ...)
{
    int class;
    MPI_Error_class(*code, &class);
    printf("handler: class %d, on MPI_COMM_SELF: %d\n", class, *comm == MPI_COMM_SELF);
    handled++;
}

static void print(const char *what, int code)
{
    int class, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_class(code, &class);
    MPI_Error_string(class, text, &length);
    printf("%s: class %d, %s\n", what, class, text);
}

int main(int argc, char **argv)
{
    int buffer = 0, code;
    MPI_Errhandler errhandler;
    MPI_Init(&argc, &argv);
    if (argc > 1 && !strcmp(argv[1], "fatal"))
        MPI_Send(&buffer, 1, MPI_INT, 99, 0, MPI_COMM_SELF);

    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    print("bad rank", MPI_Send(&buffer, 1, MPI_INT, 99, 0, MPI_COMM_SELF));
    print("bad count", MPI_Send(&buffer, -1, MPI_INT, 0, 0, MPI_COMM_SELF));
    print("bad tag", MPI_Send(&buffer, 1, MPI_INT, 0, -77, MPI_COMM_SELF));
    print("bad type", MPI_Send(&buffer, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_SELF));
    print("bad root", MPI_Bcast(&buffer, 1, MPI_INT, 5, MPI_COMM_SELF));

    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, errhandler);
    print("handled", MPI_Send(&buffer, 1, MPI_INT, 99, 0, MPI_COMM_SELF));
    MPI_Comm_call_errhandler(MPI_COMM_SELF, MPI_ERR_TOPOLOGY);
    printf("the handler was called %d times\n", handled);

    MPI_Add_error_class(&code);
    MPI_Comm_call_errhandler(MPI_COMM_SELF, code);
    printf("the handler was called %d times\n", handled);
    MPI_Errhandler_free(&errhandler);
    MPI_Finalize();
    return 3;
}
