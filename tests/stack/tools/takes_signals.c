/* SPDX-License-Identifier: MIT */
/* A tool whose init installs a handler for SIGSEGV and SIGABRT, like crash reporters. */
#define _GNU_SOURCE
#include <qmpi/qmpi.h>
#include <signal.h>
#include <unistd.h>

static void handle_signal(int number)
{
    static const char text[] = "trace: the tool's handler\n";
    _exit(write(2, text, sizeof text - 1) > 0 ? number : 99);
}

static void init(int tool_id)
{
    (void)tool_id;
    signal(SIGSEGV, handle_signal);
    signal(SIGABRT, handle_signal);
}

__attribute__((constructor)) static void register_tool(void)
{
    QMPI_Register_tool_name("takes_signals", init);
}
