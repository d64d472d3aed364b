/* SPDX-License-Identifier: MIT */
/*
 * A tool in C++: the time that this process spends in some blocking functions, for each of them.
 * One template wraps functions of any signature. Each layer is an object, which init makes and
 * registers as the storage of the layer. No exception may leave a wrapper, because MPI is a library
 * in C.
 */
#include <qmpi/qmpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

namespace
{

using Clock = std::chrono::steady_clock;

class Layer
{
  public:
    static Layer &of(QMPI_Context context)
    {
        void *layer = nullptr;
        QMPI_Context_get_storage(context, context->tool_id, &layer);
        return *static_cast<Layer *>(layer);
    }

    void add(int function, Clock::duration time)
    {
        times[function] += time.count(); // atomic: any thread may call MPI
        calls[function]++;
    }

    void report(int tool_id) const
    {
        std::vector<int> order;
        for (int function = 0; function < MPI_LAST_FUNC; function++)
            if (calls[function])
                order.push_back(function);
        std::sort(order.begin(), order.end(),
                  [this](int one, int other) { return times[one] > times[other]; });
        int rank = 0;
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        for (int function : order)
            std::fprintf(stderr, "timed (layer %d), rank %d: %-16s %6lld calls %12.6f s\n", tool_id,
                         rank, QMPIX_Function_name(static_cast<QMPI_Functions_enum>(function)),
                         calls[function].load(),
                         std::chrono::duration<double>(Clock::duration(times[function])).count());
    }

  private:
    std::array<std::atomic<Clock::rep>, MPI_LAST_FUNC> times{};
    std::array<std::atomic<long long>, MPI_LAST_FUNC> calls{};
};

// Wrapper<QMPI_Send_t>::call is an interceptor of MPI_Send, and of each other function with the
// same signature: the context tells which function was called.
template <class Signature> struct Wrapper;
template <class... Arguments> struct Wrapper<int(QMPI_Context, Arguments...)> {
    static int call(QMPI_Context context, Arguments... arguments)
    {
        using Next = int(QMPI_Context, Arguments...);
        const auto start = Clock::now();
        const int result =
            reinterpret_cast<Next *>(context->next->function)(context->next, arguments...);
        Layer::of(context).add(context->function_id, Clock::now() - start);
        return result;
    }
};

int finalize(QMPI_Context context)
{
    Layer::of(context).report(context->tool_id);
    return QMPIX_NEXT(context, Finalize)(QMPIX_NEXT_CONTEXT(context));
}

template <class Signature> void intercept(int tool_id, QMPI_Functions_enum function)
{
    QMPI_Register_tool_function(tool_id, function,
                                reinterpret_cast<void (*)()>(&Wrapper<Signature>::call));
}

void init(int tool_id)
{
    static std::vector<std::unique_ptr<Layer>> layers; // init runs in one thread
    layers.push_back(std::make_unique<Layer>());
    QMPI_Register_tool_storage(tool_id, layers.back().get());
    intercept<QMPI_Send_t>(tool_id, MPI_SEND_T);
    intercept<QMPI_Recv_t>(tool_id, MPI_RECV_T);
    intercept<QMPI_Sendrecv_t>(tool_id, MPI_SENDRECV_T);
    intercept<QMPI_Wait_t>(tool_id, MPI_WAIT_T);
    intercept<QMPI_Waitall_t>(tool_id, MPI_WAITALL_T);
    intercept<QMPI_Barrier_t>(tool_id, MPI_BARRIER_T);
    intercept<QMPI_Bcast_t>(tool_id, MPI_BCAST_T);
    intercept<QMPI_Reduce_t>(tool_id, MPI_REDUCE_T);
    intercept<QMPI_Allreduce_t>(tool_id, MPI_ALLREDUCE_T);
    QMPIX_REGISTER(tool_id, Finalize, &finalize);
}

// The constructor of a static object registers the tool, as a function with the attribute
// `constructor` does in C.
struct Announcement {
    Announcement()
    {
        QMPI_Register_tool_name("timed", init);
    }
} announcement;

} // namespace
