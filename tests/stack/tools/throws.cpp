/* SPDX-License-Identifier: MIT */
/* A tool whose init function throws an exception as its option `what` says: one of the standard
 * library, one of its own class, or a number. Without this option, it throws none. */
#include <qmpi/qmpi.h>

#include <cstring>
#include <string>

namespace
{

struct tool_exception {
};

void init(int tool_id)
{
    const char *what = "";
    QMPIX_Tool_get_option(tool_id, "what", &what);
    if (!std::strcmp(what, "standard"))
        static_cast<void>(std::stoi("no number"));
    if (!std::strcmp(what, "own"))
        throw tool_exception();
    if (!std::strcmp(what, "number"))
        throw 7;
}

const int announced = QMPI_Register_tool_name("throws", init);

} // namespace
