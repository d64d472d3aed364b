// SPDX-License-Identifier: MIT
// A C++ tool that offers and uses the service `typed` by the functions that QMPIX_SERVICE defines.
#include "service.h"
#include "trace.h"

#include <type_traits>

namespace
{

int answer(int offering_id)
{
    return offering_id * 10 + 4;
}

void find(int tool_id, const char *when)
{
    const service_table *table = nullptr;
    int offering_id = 0;
    const int result = typed_find(tool_id, &offering_id, &table);
    if (result == MPI_SUCCESS)
        trace("typed %d finds %s: layer %d answers %d", tool_id, when, offering_id,
              table->answer(offering_id));
    else
        trace("typed %d finds %s: %s%s", tool_id, when,
              result == MPI_ERR_NAME ? "nothing" : "another result",
              table || offering_id ? " WRONG: an output was touched" : "");
    if (typed_find(tool_id, nullptr, nullptr) != MPI_ERR_ARG)
        trace("typed %d WRONG: no table", tool_id);
}

int rank_of_tool(QMPI_Context context, MPI_Comm comm, int *rank)
{
    find(context->tool_id, "later");
    return QMPIX_NEXT(context, Comm_rank)(QMPIX_NEXT_CONTEXT(context), comm, rank);
}

void init(int tool_id)
{
    static const service_table table = {answer};
    static_assert(std::is_same<decltype(typed_offer), int(int, const service_table *)>::value,
                  "the compiler checks the type of the table");
    if (typed_offer(tool_id, &table) != MPI_SUCCESS)
        trace("typed %d WRONG: it cannot offer", tool_id);
    find(tool_id, "in init");
    QMPIX_REGISTER(tool_id, Comm_rank, rank_of_tool);
}

const bool announced = QMPI_Register_tool_name("service_typed", init) == MPI_SUCCESS;

} // namespace
