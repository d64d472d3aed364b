/* SPDX-License-Identifier: MIT */
/*
 * A plugin of qemu-user, for version 1 of its plugin interface. For a program that the emulator
 * runs, it prints what count_steps prints: the number of instructions that the first thread
 * executes between the first SIGURG that it raises and the second, between the third and the
 * fourth, and so on. After each number, it prints how many of them are in tools. See
 * bench/processors.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* These are the declarations of qemu-plugin.h, for which Debian has no package. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t,
                                           void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, void (*)(unsigned, void *),
                                          int flags, void *data);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t,
                                          void (*)(qemu_plugin_id_t, unsigned, int64_t, uint64_t,
                                                   uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                                   uint64_t, uint64_t));

__attribute__((visibility("default"))) int qemu_plugin_version = 1;
__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t, const void *, int,
                                                               char **);

static long tgkill_number; /* of the emulated processor */
static char folder[4096];  /* of the tools */
static bool counting;
static uint64_t count, count_in_tools;

/* A block of translated instructions. Blocks are never freed. */
struct block {
    uint64_t address;
    size_t instructions;
    enum { UNKNOWN, IN_TOOL, ELSEWHERE } place; /* found out when the block is counted first */
};

/* Returns whether the code at `address` is in a library of the folder of the tools. Addresses of
 * the program are those of this process, because both have addresses of 64 bits. */
static bool is_in_tool(uint64_t address)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[8192];
    bool found = false;
    while (maps && !found && fgets(line, sizeof line, maps)) {
        uint64_t start, end;
        found = sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && address >= start &&
                address < end && strstr(line, folder) && strstr(line, ".so\n");
    }
    if (maps)
        fclose(maps);
    return found;
}

static void execute(unsigned thread, void *data)
{
    struct block *block = data;
    if (!counting || thread != 0)
        return;
    if (block->place == UNKNOWN)
        block->place = is_in_tool(block->address) ? IN_TOOL : ELSEWHERE;
    count += block->instructions;
    if (block->place == IN_TOOL)
        count_in_tools += block->instructions;
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *translated)
{
    (void)id;
    struct block *block = calloc(1, sizeof *block);
    if (!block)
        abort();
    block->address = qemu_plugin_tb_vaddr(translated);
    block->instructions = qemu_plugin_tb_n_insns(translated);
    qemu_plugin_register_vcpu_tb_exec_cb(translated, execute, 0, block);
}

static void call_system(qemu_plugin_id_t id, unsigned thread, int64_t number, uint64_t a,
                        uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
                        uint64_t h)
{
    (void)id, (void)a, (void)b, (void)d, (void)e, (void)f, (void)g, (void)h;
    if (thread != 0 || number != tgkill_number || c != SIGURG)
        return;
    if (counting)
        printf("%" PRIu64 " %" PRIu64 "\n", count, count_in_tools), fflush(stdout);
    counting = !counting;
    count = count_in_tools = 0;
}

/* The arguments are tgkill=N, where N is the number of this system call, and tools=FOLDER. */
int qemu_plugin_install(qemu_plugin_id_t id, const void *about, int argc, char **argv)
{
    (void)about;
    if (argc != 2 || sscanf(argv[0], "tgkill=%ld", &tgkill_number) != 1 ||
        sscanf(argv[1], "tools=%4095s", folder) != 1)
        return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_vcpu_syscall_cb(id, call_system);
    return 0;
}
