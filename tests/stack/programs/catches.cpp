/* SPDX-License-Identifier: MIT */
/* Catches any exception that its first MPI call throws, and then calls MPI from another thread. */
#include <mpi.h>

#include <cstdio>
#include <thread>

int main()
{
    int provided = 0, flag = -1;
    try {
        MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
    } catch (...) {
        std::puts("caught");
    }
    std::thread([&] { MPI_Initialized(&flag); }).join();
    std::printf("initialized %d\n", flag);
    if (flag == 1)
        MPI_Finalize();
    return 0;
}
