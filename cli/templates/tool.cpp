/* SPDX-License-Identifier: MIT */
/*
 * @NAME@: counts the messages that a program sends by MPI_Send and MPI_Isend, and their bytes. At
 * MPI_Finalize the sums over all ranks are printed on stderr.
 */
#include <qmpi/qmpi.h>

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
    explicit Layer(long long minimum) : minimum_(minimum)
    {
    }

    /* Returns the layer to which the context of an interceptor belongs. */
    static Layer &of(QMPI_Context context)
    {
        void *layer = nullptr;
        QMPI_Context_get_storage(context, id_of(context), &layer);
        return *static_cast<Layer *>(layer);
    }

    static int id_of(QMPI_Context context)
    {
        int tool_id = 0;
        QMPIX_Context_get_tool_id(context, &tool_id);
        return tool_id;
    }

    /* For its own purposes, a tool calls PMPI_X, which no layer sees. */
    void count(int count, MPI_Datatype datatype, int dest)
    {
        int size = 0;
        PMPI_Type_size(datatype, &size);
        const long long bytes = static_cast<long long>(count) * size;
        if (dest == MPI_PROC_NULL || bytes < minimum_)
            return;
        messages_++;
        bytes_ += bytes;
    }

    void report(int tool_id) const
    {
        const long long mine[2] = {messages_, bytes_};
        long long all[2] = {};
        MPI_Comm comm; /* of the processes that have this layer */
        int rank = -1;
        if (QMPIX_Tool_create_comm(tool_id, &comm) == MPI_SUCCESS) {
            PMPI_Comm_rank(comm, &rank);
            PMPI_Reduce(mine, all, 2, MPI_LONG_LONG, MPI_SUM, 0, comm);
            PMPI_Comm_free(&comm);
        }
        if (rank == 0)
            std::fprintf(stderr,
                         "@NAME@ (layer %d): %lld messages, %lld bytes by MPI_Send and MPI_Isend\n",
                         tool_id, all[0], all[1]);
    }

  private:
    const long long minimum_; /* the option min-bytes */
    std::atomic<long long> messages_{0};
    std::atomic<long long> bytes_{0};
};

/* ---- Interceptors ---------------------------------------------------------------------------- */

/* An interceptor has the parameters of the MPI function, with a context in front of them. No
 * exception may leave it. */
int my_Send(QMPI_Context context, const void *buf, int count, MPI_Datatype datatype, int dest,
            int tag, MPI_Comm comm) noexcept
{
    const int result = QMPIX_NEXT(context, Send)(QMPIX_NEXT_CONTEXT(context), buf, count, datatype,
                                                 dest, tag, comm);
    if (result == MPI_SUCCESS)
        Layer::of(context).count(count, datatype, dest);
    return result;
}

int my_Isend(QMPI_Context context, const void *buf, int count, MPI_Datatype datatype, int dest,
             int tag, MPI_Comm comm, MPI_Request *request) noexcept
{
    const int result = QMPIX_NEXT(context, Isend)(QMPIX_NEXT_CONTEXT(context), buf, count, datatype,
                                                  dest, tag, comm, request);
    if (result == MPI_SUCCESS)
        Layer::of(context).count(count, datatype, dest);
    return result;
}

int my_Finalize(QMPI_Context context) noexcept
{
    Layer::of(context).report(Layer::id_of(context));
    return QMPIX_NEXT(context, Finalize)(QMPIX_NEXT_CONTEXT(context));
}

/* ---- The tool -------------------------------------------------------------------------------- */

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
    QMPI_Register_tool_storage(tool_id, new Layer(minimum)); /* it lives for the whole run */
    QMPIX_REGISTER(tool_id, Send, my_Send);
    QMPIX_REGISTER(tool_id, Isend, my_Isend);
    QMPIX_REGISTER(tool_id, Finalize, my_Finalize);
    /* MPI_Finalize reaches this layer even while it is off, because all ranks take part in the
     * reduction. */
    QMPIX_Tool_keep_function(tool_id, MPI_FINALIZE_T);
}

__attribute__((constructor)) void announce()
{
    static const QMPIX_Tool_option options[] = {
        {"min-bytes", "0", "count only messages of at least this many bytes"},
        {nullptr, nullptr, nullptr},
    };
    static QMPIX_Tool_info info = {};
    info.size = sizeof info;
    info.description = "counts the messages sent by MPI_Send and MPI_Isend, and their bytes";
    info.version = "0.1.0";
    info.options = options;
    QMPI_Register_tool_name("@NAME@", init);
    QMPIX_Register_tool_info("@NAME@", &info);
}

} // namespace
