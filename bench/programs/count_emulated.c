/* SPDX-License-Identifier: MIT */
/*
 * A plugin of qemu-user, for version 1 of its plugin interface. For a program that the emulator
 * runs, it prints what count_steps prints: the number of instructions that the first thread
 * executes between the first SIGURG that it raises and the second, between the third and the
 * fourth, and so on. See bench/processors.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* These are the declarations of qemu-plugin.h, for which Debian has no package. */
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t,
                                           void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
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
static bool counting;
static uint64_t count;

static void execute(unsigned thread, void *instructions)
{
    if (counting && thread == 0)
        count += (uintptr_t)instructions;
}

static void translate(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_cb(block, execute, 0,
                                         (void *)(uintptr_t)qemu_plugin_tb_n_insns(block));
}

static void call_system(qemu_plugin_id_t id, unsigned thread, int64_t number, uint64_t a,
                        uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
                        uint64_t h)
{
    (void)id, (void)a, (void)b, (void)d, (void)e, (void)f, (void)g, (void)h;
    if (thread != 0 || number != tgkill_number || c != SIGURG)
        return;
    if (counting)
        printf("%" PRIu64 "\n", count), fflush(stdout);
    counting = !counting;
    count = 0;
}

/* The argument is tgkill=N, where N is the number of this system call. */
int qemu_plugin_install(qemu_plugin_id_t id, const void *about, int argc, char **argv)
{
    (void)about;
    if (argc != 1 || sscanf(argv[0], "tgkill=%ld", &tgkill_number) != 1)
        return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translate);
    qemu_plugin_register_vcpu_syscall_cb(id, call_system);
    return 0;
}
