// SPDX-License-Identifier: MIT
// Uses the interface in C++, with its header after mpi.h. The program contains a tool, which
// intercepts two functions and makes wrong calls. One interceptor calls the next function by
// QMPIX_NEXT, the other by QMPI_Get_function. Numbers outside the range of the enumeration are
// tested in C, because they cannot be written in C++.
#include <mpi.h>

#include <qmpi/qmpi.h>
#include <qmpi/wrappers.h>

#include <climits>
#include <cstdio>

namespace
{

int calls = 0, wrong = 0;

void expect(bool right, const char *what)
{
    if (!right) {
        std::printf("wrong: %s\n", what);
        wrong++;
    }
}
#define EXPECT(condition) expect(condition, #condition)

int rank_of_tool(QMPI_Context context, MPI_Comm comm, int *rank)
{
    calls++;
    int tool_id = 0;
    void *storage = nullptr, *address = nullptr;
    EXPECT(QMPIX_Context_get_tool_id(context, &tool_id) == MPI_SUCCESS && tool_id == 1);
    EXPECT(QMPI_Context_get_storage(context, tool_id, &storage) == MPI_SUCCESS);
    EXPECT(storage == &calls);
    EXPECT(QMPI_Context_get_calling_address(context, tool_id, &address) == MPI_SUCCESS && address);
    EXPECT(QMPI_Context_get_storage(nullptr, tool_id, &storage) == MPI_ERR_ARG);
    EXPECT(QMPI_Context_get_calling_address(context, INT_MAX, &address) == MPI_ERR_ARG);
    EXPECT(QMPI_Register_tool_storage(tool_id, nullptr) == MPI_ERR_OTHER);
    return QMPIX_NEXT(context, Comm_rank)(QMPIX_NEXT_CONTEXT(context), comm, rank);
}

int size_of_tool(QMPI_Context, MPI_Comm comm, int *size)
{
    calls++;
    void (*function)() = nullptr;
    QMPI_Context next = nullptr;
    EXPECT(QMPI_Get_function(1, MPI_LAST_FUNC, &function, &next) == MPI_ERR_ARG);
    EXPECT(QMPI_Get_function(2, MPI_COMM_SIZE_T, &function, &next) == MPI_ERR_ARG);
    EXPECT(QMPI_Get_function(-1, MPI_COMM_SIZE_T, &function, &next) == MPI_ERR_ARG);
    EXPECT(QMPI_Get_function(1, MPI_COMM_SIZE_T, nullptr, &next) == MPI_ERR_ARG);
    EXPECT(function == nullptr && next == nullptr);
    EXPECT(QMPI_Get_function(1, MPI_COMM_SIZE_T, &function, &next) == MPI_SUCCESS);
    return reinterpret_cast<QMPI_Comm_size_t *>(function)(next, comm, size);
}

void init(int tool_id)
{
    EXPECT(QMPI_Register_tool_storage(tool_id, &calls) == MPI_SUCCESS);
    EXPECT(QMPI_Register_tool_function(tool_id, MPI_COMM_RANK_T,
                                       reinterpret_cast<void (*)()>(rank_of_tool)) == MPI_SUCCESS);
    EXPECT(QMPI_Register_tool_function(tool_id, MPI_COMM_SIZE_T,
                                       reinterpret_cast<void (*)()>(size_of_tool)) == MPI_SUCCESS);
    EXPECT(QMPI_Register_tool_function(tool_id, MPI_COMM_RANK_T, nullptr) == MPI_ERR_ARG);
    EXPECT(QMPI_Register_tool_function(tool_id, MPI_LAST_FUNC,
                                       reinterpret_cast<void (*)()>(rank_of_tool)) == MPI_ERR_ARG);
}

const bool announced = QMPI_Register_tool_name("in-c++", init) == MPI_SUCCESS;

} // namespace

int main()
{
    int rank = -1, size = -1;
    EXPECT(announced);
    EXPECT(QMPI_Register_tool_name(nullptr, init) == MPI_ERR_ARG);
    EXPECT(QMPI_Register_tool_name("in-c++", init) == MPI_ERR_ARG);
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    EXPECT(rank == 0 && size == 1);
    MPI_Finalize();
    std::printf("calls %d, wrong %d\n", calls, wrong);
    return wrong != 0;
}
