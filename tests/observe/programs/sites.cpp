// SPDX-License-Identifier: MIT
// MPI calls from inlined functions and during exceptions. test_sites.py expects these names of
// functions.
#include <mpi.h>
#include <stdexcept>
#include <vector>

#define STAY() __asm__ volatile("" ::: "memory")

namespace grid
{
template <typename Value> struct halo {
    Value value;
    __attribute__((always_inline)) void exchange(Value &other)
    {
        int rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank); // line: exchange
        other += value;
    }
    __attribute__((noinline)) void update(Value other)
    {
        exchange(other); // line: update
        STAY();
    }
};
} // namespace grid

struct guard {
    ~guard()
    {
        grid::halo<int>{1}.update(1);
        STAY();
    }
};

__attribute__((noinline)) static void fail(int depth)
{
    const guard guarded;
    std::vector<int> values(static_cast<size_t>(depth) + 1);
    if (!depth)
        throw std::runtime_error("on purpose");
    fail(depth - 1);
    STAY();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    grid::halo<double>{1}.update(2);
    try {
        fail(1);
    } catch (const std::exception &) {
        grid::halo<double>{1}.update(3);
    }
    const auto call = [] {
        grid::halo<double>{1}.update(4);
        STAY();
    };
    call();
    MPI_Finalize();
    return 0;
}
