/* SPDX-License-Identifier: MIT */
/*
 * See presence.h. Two kinds of process managers are known: Hydra, which answers requests of PMI-1
 * on a socket that the process inherits, and those of PMIx, whose client library the MPI library
 * loads in MPI_Init.
 */
#define _GNU_SOURCE
#include "job/presence.h"

#include "util/util.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- PMI-1 of Hydra -------------------------------------------------------------------------- */

enum { ANSWER = 2048, NAME = 512 };

static int hydra = -1; /* the socket; -1: Hydra cannot be asked */
static char store_name[NAME];

static bool ask_manager(const char *request, char answer[ANSWER])
{
    return qmpi_launcher_pmi_ask(hydra, request, answer, ANSWER);
}

/* Announces this process to Hydra. Other process managers are not asked, because the MPI library
 * also sends them `init`, and they refuse a second one. */
static void announce_to_hydra(void)
{
    static const char member[] = "kvsname=";
    char answer[ANSWER], request[ANSWER];
    if (!getenv("HYDI_CONTROL_FD"))
        return;
    hydra = qmpi_launcher_pmi_socket();
    const int rank = qmpi_launcher_rank();
    bool good = hydra >= 0 && rank >= 0 &&
                ask_manager("cmd=init pmi_version=1 pmi_subversion=1\n", answer) &&
                strstr(answer, "rc=0") && ask_manager("cmd=get_my_kvsname\n", answer);
    const char *name = good ? strstr(answer, member) : NULL;
    const size_t length = name ? strcspn(name + sizeof member - 1, " ") : 0;
    good = length > 0 && length < sizeof store_name;
    if (good) {
        memcpy(store_name, name + sizeof member - 1, length);
        snprintf(request, sizeof request, "cmd=put kvsname=%s key=qmpi-%d value=1\n", store_name,
                 rank);
        good = ask_manager(request, answer) && strstr(answer, "rc=0");
    }
    if (!good)
        hydra = -1;
}

static enum qmpi_presence ask_hydra(int rank)
{
    char answer[ANSWER], request[ANSWER];
    snprintf(request, sizeof request, "cmd=get kvsname=%s key=qmpi-%d\n", store_name, rank);
    if (!ask_manager(request, answer))
        return QMPI_PRESENCE_UNKNOWN;
    return strstr(answer, "rc=0") ? QMPI_PRESENCE_PRESENT : QMPI_PRESENCE_ABSENT;
}

/* ---- PMIx ------------------------------------------------------------------------------------ */

/* The structures of <pmix_common.h> since version 2. Their sizes are part of the ABI of PMIx. */
struct pmix_process {
    char nspace[256];
    uint32_t rank;
};
struct pmix_value {
    uint16_t type;
    union {
        bool flag;
        char *string;
        int integer;
        char room[64]; /* at least the size of any value */
    } data;
};
struct pmix_info {
    char key[512];
    uint32_t flags;
    struct pmix_value value;
};
enum { TYPE_BOOL = 1, TYPE_STRING = 3, TYPE_INT = 6, SCOPE_GLOBAL = 3 };
typedef int put_function(uint8_t scope, const char key[], struct pmix_value *value);
typedef int get_function(const struct pmix_process *process, const char key[],
                         const struct pmix_info info[], size_t count, struct pmix_value **value);

/* Whether PMIx_Commit still has to put the key. The thread that puts the key clears this variable
 * by an exchange, so that no other thread does. qmpi_presence_of clears it, too. It protects no
 * other data. */
static bool announcing;
/* NULL: this process has put no key by PMIx. Atomic, because the thread that puts the key need not
 * be the one that asks. */
static _Atomic(get_function *) pmix_get;

/* A static program loads no client library of PMIx, so libqmpi.a does not define PMIx_Commit. */
#ifndef QMPI_STATIC
/* Puts the key once, if announce_to_hydra has not done so. `find` is dlsym, and finds the functions
 * of PMIx by the handle `library`. */
static void put_key(qmpi_next_symbol_finder *find, void *library)
{
    static char one[] = "1";
    struct pmix_value value = {.type = TYPE_STRING, .data.string = one};
    if (!__atomic_exchange_n(&announcing, false, __ATOMIC_RELAXED))
        return;
    put_function *put = (put_function *)(uintptr_t)find(library, "PMIx_Put");
    get_function *found = (get_function *)(uintptr_t)find(library, "PMIx_Get");
    if (put && found && put(SCOPE_GLOBAL, "qmpi", &value) == 0)
        pmix_get = found;
}

typedef int commit_function(void);

/*
 * The MPI library calls this function in MPI_Init, after it has put its keys for other processes.
 * The loader finds this function before the PMIx_Commit of the client library, which this function
 * calls at its end.
 */
__attribute__((visibility("default"))) int PMIx_Commit(void);

int PMIx_Commit(void)
{
    enum { NOT_SUPPORTED = -47 };
    Dl_info caller;
    /* These are not libqmpi's own, which it exports for the program. */
    void *(*open)(const char *, int) =
        (void *(*)(const char *, int))(uintptr_t)qmpi_next_symbol("dlopen");
    qmpi_next_symbol_finder *find = qmpi_next_symbol_dlsym();
    void *library = open && dladdr(__builtin_return_address(0), &caller)
                        ? open(caller.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                        : NULL;
    commit_function *commit =
        find ? (commit_function *)(uintptr_t)find(library ? library : RTLD_NEXT, "PMIx_Commit")
             : NULL;
    if (commit == PMIx_Commit) /* the program itself is linked with PMIx */
        commit = (commit_function *)(uintptr_t)find(library = RTLD_NEXT, "PMIx_Commit");
    if (!commit)
        return NOT_SUPPORTED;
    put_key(find, library ? library : RTLD_NEXT);
    return commit();
}
#endif

/* Returns whether the process has a value for the key; `option` tells where PMIx searches. If the
 * value is a string and `text` is not NULL, copies it to the `capacity` bytes at `text`. */
static bool find_string(const struct pmix_process *process, const char *key,
                        const struct pmix_info *option, char *text, size_t capacity)
{
    struct pmix_value *value = NULL;
    const bool has = pmix_get(process, key, option, 1, &value) == 0 && value;
    if (has && value->type == TYPE_STRING) {
        if (text)
            snprintf(text, capacity, "%s", value->data.string);
        free(value->data.string);
    }
    free(value);
    return has;
}

/* With this option, PMIx searches only the data that the client has, and does not ask the server.
 */
static const struct pmix_info of_client = {.key = "pmix.optional",
                                           .value = {.type = TYPE_BOOL, .data.flag = true}};

/* Whether the two processes are known to run on different hosts. Every process knows the hosts of
 * all. */
static bool are_apart(const struct pmix_process *one, const struct pmix_process *other)
{
    char hosts[2][256];
    return find_string(one, "pmix.hname", &of_client, hosts[0], sizeof hosts[0]) &&
           find_string(other, "pmix.hname", &of_client, hosts[1], sizeof hosts[1]) &&
           strcmp(hosts[0], hosts[1]);
}

/*
 * MPI_Init has exchanged the keys, but a key may be in one of three places: the client, the server
 * of this host, or, if data are sent only on demand, the server of the other host. The server of
 * the other host answers at once, because the other process has committed its keys. Without the
 * option `of_server`, the server of this host would wait for a key that a process of this host has
 * not put.
 */
static enum qmpi_presence ask_pmix(int rank)
{
    static const struct pmix_info of_server = {.key = "pmix.immediate",
                                               .value = {.type = TYPE_BOOL, .data.flag = true}},
                                  of_others = {.key = "pmix.timeout",
                                               .value = {.type = TYPE_INT, .data.integer = 5}};
    const char *nspace = getenv("PMIX_NAMESPACE");
    struct pmix_process process = {.rank = (uint32_t)rank},
                        self = {.rank = (uint32_t)qmpi_launcher_rank()};
    if (!nspace || strlen(nspace) >= sizeof process.nspace)
        return QMPI_PRESENCE_UNKNOWN;
    strcpy(process.nspace, nspace);
    strcpy(self.nspace, nspace);
    return find_string(&process, "qmpi", &of_client, NULL, 0) ||
                   find_string(&process, "qmpi", &of_server, NULL, 0) ||
                   (are_apart(&self, &process) &&
                    find_string(&process, "qmpi", &of_others, NULL, 0))
               ? QMPI_PRESENCE_PRESENT
               : QMPI_PRESENCE_ABSENT;
}

/* ---- Both ------------------------------------------------------------------------------------ */

void qmpi_presence_announce(void)
{
    /* Set by the first call. No other data depends on it, so relaxed order suffices. */
    static bool announced;
    if (__atomic_exchange_n(&announced, true, __ATOMIC_RELAXED))
        return; /* the MPI library is using the process manager already */
    announce_to_hydra();
    __atomic_store_n(&announcing, hydra < 0, __ATOMIC_RELAXED);
}

/* Two threads may create communicators from sessions at the same time. Without this lock, one could
 * get the answer of the process manager to the other. */
QMPI_LOCK(manager_lock);

enum qmpi_presence qmpi_presence_of(int rank)
{
    __atomic_store_n(&announcing, false, __ATOMIC_RELAXED);
    pthread_mutex_lock(&manager_lock);
    const enum qmpi_presence found = hydra >= 0 ? ask_hydra(rank)
                                     : pmix_get ? ask_pmix(rank)
                                                : QMPI_PRESENCE_UNKNOWN;
    pthread_mutex_unlock(&manager_lock);
    return found;
}
