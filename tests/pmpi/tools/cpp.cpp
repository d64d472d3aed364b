/* SPDX-License-Identifier: MIT */
/*
 * A C++ tool. It has a static object with a constructor and a destructor and a thread-local object,
 * uses containers and streams of the standard library, and throws and catches an exception in each
 * wrapper.
 */
#include "functions.h"
#include "trace.h"

#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <typeinfo>

namespace
{

struct Counts {
    std::map<std::string, int> calls;
    Counts()
    {
        int flag = -1;
        PMPI_Initialized(&flag);
        trace("load " TOOL " initialized %d", flag);
    }
    ~Counts()
    {
        int sum = 0;
        for (const auto &pair : calls)
            sum += pair.second;
        trace("exit " TOOL " counted %d", sum);
    }
};

Counts counts;
thread_local std::string last;

struct Refused : std::runtime_error {
    using std::runtime_error::runtime_error;
};

void note(const std::string &function)
{
    int &count = counts.calls[function];
    try {
        last = function;
        throw Refused(function);
    } catch (const std::exception &error) {
        std::ostringstream text;
        text << error.what() << ' ' << ++count
             << (dynamic_cast<const Refused *>(&error) ? "" : " lost its type");
        trace(TOOL " %s", text.str().c_str());
    }
    std::cerr << std::flush;
}

} // namespace

extern "C" {
#define WRAP(RESULT, X, PARAMETERS, ARGUMENTS)                                                     \
    RESULT MPI_##X PARAMETERS                                                                      \
    {                                                                                              \
        note("MPI_" #X);                                                                           \
        return PMPI_##X ARGUMENTS;                                                                 \
    }
FUNCTIONS(WRAP)
}
