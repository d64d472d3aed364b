// SPDX-License-Identifier: MIT
// The bytes that this process sends and receives, by region of the program. This tool uses the
// service of regions.h in C++. It searches for the service when MPI has been initialized, because
// by then, all layers have offered their services. A service remains valid for the whole run.
#include "regions.h"

#include <qmpi/observer.h>

#include <array>
#include <atomic>
#include <cstdio>

namespace
{

class Layer
{
  public:
    int tool_id = 0;

    void find_regions()
    {
        if (regions_find(tool_id, &offering_id, &table) != MPI_SUCCESS)
            std::fprintf(stderr,
                         "region_bytes (layer %d): no layer of the stack knows the regions of the "
                         "program\n  hint: add the tool regions to the stack\n",
                         tool_id);
    }

    void add(const QMPIX_Call *call)
    {
        MPI_Count to_others = 0, from_others = 0;
        QMPIX_Call_get_bytes(call, &to_others, &from_others);
        const int region = table ? table->current(offering_id) : 0;
        sent[region] += to_others; // atomic: any thread may call MPI
        received[region] += from_others;
    }

    void report() const
    {
        int rank = 0;
        PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
        for (int region = 0; region < REGIONS_MAX; region++)
            if (sent[region] || received[region])
                std::fprintf(
                    stderr, "region_bytes (layer %d), rank %d: %s: %lld sent, %lld received\n",
                    tool_id, rank, table ? table->name(offering_id, region) : "(no region)",
                    sent[region].load(), received[region].load());
    }

  private:
    int offering_id = 0;
    const regions_table *table = nullptr;
    std::array<std::atomic<long long>, REGIONS_MAX> sent{}, received{};
};

std::array<Layer, 256> layers; // by tool_id

Layer &layer_of(const QMPIX_Call *call)
{
    return *static_cast<Layer *>(call->observer->data);
}

void before(const QMPIX_Call *call, QMPIX_Word *)
{
    if (call->function->number == MPI_FINALIZE_T)
        layer_of(call).report();
}

void after(const QMPIX_Call *call, QMPIX_Word *)
{
    const int number = call->function->number;
    if (number == MPI_INIT_T || number == MPI_INIT_THREAD_T)
        layer_of(call).find_regions();
    else if (number != MPI_FINALIZE_T)
        layer_of(call).add(call);
}

void init(int tool_id)
{
    layers[tool_id].tool_id = tool_id;
    QMPIX_Observer observer = {};
    observer.size = sizeof observer;
    observer.before = before;
    observer.after = after;
    observer.data = &layers[tool_id];
    QMPIX_Register_tool_observer(tool_id, &observer);
}

struct Announcement {
    Announcement()
    {
        QMPI_Register_tool_name("region_bytes", init);
    }
} announcement;

} // namespace
