/* SPDX-License-Identifier: MIT */
/*
 * @NAME@: counts the calls of all functions that send data, and their bytes. At
 * MPI_Finalize the sums over all ranks are printed on stderr.
 */
#include <qmpi/observer.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace
{

/* The data of one layer. A tool may be in the stack several times, and several threads may call MPI
 * at the same time. Therefore, there are no global variables, and the counters are atomic. */
class Layer
{
  public:
    Layer(int tool_id, long long minimum) : tool_id_(tool_id), minimum_(minimum)
    {
        QMPIX_Observer observer{};
        observer.size = sizeof observer;
        observer.before = before;
        observer.after = after;
        observer.data = this;
        QMPIX_Register_tool_observer(tool_id, &observer);
        /* MPI_Finalize reaches this layer even while it is off, because all ranks take part in the
         * reduction. */
        QMPIX_Tool_keep_function(tool_id, MPI_FINALIZE_T);
    }

  private:
    /* These callbacks run before and after every MPI call. No exception may leave them. `word`
     * passes a value, such as a time, from `before` to `after` of the same call. */
    static void before(const QMPIX_Call *call, QMPIX_Word *) noexcept
    {
        if (call->function->number == MPI_FINALIZE_T)
            static_cast<Layer *>(call->observer->data)->report();
    }

    /* <qmpi/observer.h> contains further queries of a call: peer, tag, communicator, … This tool is
     * built for the standard ABI and runs with all MPIs: read arguments with
     * QMPIX_Call_get_argument, not through call->arguments. */
    static void after(const QMPIX_Call *call, QMPIX_Word *) noexcept
    {
        Layer &layer = *static_cast<Layer *>(call->observer->data);
        MPI_Count sent = 0;
        if (QMPIX_Call_get_bytes(call, &sent, nullptr) != MPI_SUCCESS || !sent ||
            sent < layer.minimum_)
            return;
        layer.messages_++;
        layer.bytes_ += sent;
    }

    /* For its own purposes, a tool calls PMPI_X, which no layer sees. */
    void report() const
    {
        const long long mine[2] = {messages_, bytes_};
        long long all[2] = {};
        MPI_Comm comm; /* of the processes that have this layer */
        int rank = -1;
        if (QMPIX_Tool_create_comm(tool_id_, &comm) == MPI_SUCCESS) {
            PMPI_Comm_rank(comm, &rank);
            PMPI_Reduce(mine, all, 2, MPI_LONG_LONG, MPI_SUM, 0, comm);
            PMPI_Comm_free(&comm);
        }
        if (rank == 0)
            std::fprintf(stderr, "@NAME@ (layer %d): %lld messages, %lld bytes\n", tool_id_, all[0],
                         all[1]);
    }

    const int tool_id_;
    const long long minimum_; /* the option min-bytes */
    std::atomic<long long> messages_{0};
    std::atomic<long long> bytes_{0};
};

/* Runs once for each layer, before the first MPI call is carried out. */
void init(int tool_id)
{
    const char *value = "";
    long long minimum = 0;
    QMPIX_Tool_get_option(tool_id, "min-bytes", &value);
    const char *end = value + std::strlen(value);
    const auto [rest, error] = std::from_chars(value, end, minimum);
    if (error != std::errc() || rest != end || minimum < 0) {
        QMPIX_Tool_fail(tool_id, "min-bytes is not a valid number\n"
                                 "hint: give a number, such as min-bytes=1024");
        return;
    }
    new Layer(tool_id, minimum); /* it lives for the whole run */
}

__attribute__((constructor)) void announce()
{
    static const QMPIX_Tool_option options[] = {
        {"min-bytes", "0", "count only calls that send at least this many bytes"},
        {nullptr, nullptr, nullptr},
    };
    static QMPIX_Tool_info info = {};
    info.size = sizeof info;
    info.description = "counts the calls that send data, and their bytes";
    info.version = "0.1.0";
    info.options = options;
    QMPI_Register_tool_name("@NAME@", init);
    QMPIX_Register_tool_info("@NAME@", &info);
}

} // namespace
