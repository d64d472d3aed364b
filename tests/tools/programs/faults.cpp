// SPDX-License-Identifier: MIT
// A C++ program whose error handler throws an exception, which must reach the caller each time.
#include <cstdio>
#include <mpi.h>

struct Failure {
    int code;
};

extern "C" void fail(MPI_Comm *, int *code, ...)
{
    throw Failure{*code};
}

static void send(int call)
{
    int data = 0;
    try {
        MPI_Send(&data, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
        std::printf("call %d: done\n", call);
    } catch (const Failure &failure) {
        int errorclass;
        MPI_Error_class(failure.code, &errorclass);
        std::printf("call %d: thrown class %d\n", call, errorclass);
    }
}

int main(int argc, char **argv)
{
    MPI_Errhandler errhandler;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(fail, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    for (int call = 1; call <= 4; call++)
        send(call);
    MPI_Errhandler_free(&errhandler);
    MPI_Finalize();
}
