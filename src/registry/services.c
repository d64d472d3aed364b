/* SPDX-License-Identifier: MIT */
/* See services.h. */
#define _GNU_SOURCE
#include "registry/services.h"

#include "registry/layer.h"
#include "util/util.h"

#include <qmpi/service.h>

#include <fnmatch.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct service {
    char *name;
    int version;
    const void *table;
    struct service *next;
};
static struct service *services[QMPI_LAYERS_MAX + 1]; /* [tool_id] */

struct watch {
    char *name;
    int version;
    QMPIX_Service_changed *callback;
    void *data;
    /* The number of changes since a thread last brought the callback up to date. A change is
     * counted after it was made, with release. The thread that calls the callback exchanges the
     * number with acquire, and searches again if the number has grown meanwhile. */
    unsigned pending;
    int offering_id; /* arguments of the last callback: see call_watch */
    const void *table;
    struct watch *next; /* stored and loaded as described at watches[] */
};
/* Lists by tool_id. A complete watch is added at the end of a list, under the lock and with
 * release. Any thread may load the pointers, with acquire. */
static struct watch *watches[QMPI_LAYERS_MAX + 1];
QMPI_LOCK(watches_lock);

static bool (*layer_is_enabled)(int tool_id);

void qmpi_service_use_switch(bool (*is_enabled)(int tool_id))
{
    layer_is_enabled = is_enabled;
}

static bool is_service_name(const char *name)
{
    size_t length = 0;
    for (; name && name[length]; length++) {
        if (name[length] <= ' ' || name[length] > '~' || length == 255)
            return false;
    }
    return length > 0;
}

/* ---- Offering -------------------------------------------------------------------------------- */

static int major_of(int version)
{
    return version >> 16;
}

/* Returns the place of a service in the list of the layer: an element that points to a service of
 * this name and major version, or else the end of the list. */
static struct service **find_offered(int tool_id, const char *name, int version)
{
    struct service **place = &services[tool_id];
    while (*place &&
           (strcmp((*place)->name, name) != 0 || major_of((*place)->version) != major_of(version)))
        place = &(*place)->next;
    return place;
}

int QMPIX_Service_offer(int tool_id, const char *name, int version, const void *table)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    const bool is_valid = is_service_name(name) && version >= 0 && table;
    const int error = qmpi_layer_check_registration(__func__, tool_id, is_valid);
    if (error != MPI_SUCCESS)
        return error;
    struct service **end = find_offered(tool_id, name, version);
    if (*end)
        return qmpi_layer_note_registration(__func__, MPI_ERR_ARG);
    *end = qmpi_allocate(1, sizeof **end);
    (*end)->name = qmpi_copy(name);
    (*end)->version = version;
    (*end)->table = table;
    qmpi_debug(QMPI_TOPIC_LOAD, "layer %d (%s) offers the service %s %d.%d", tool_id, layer->name,
               name, major_of(version), version & 0xffff);
    return MPI_SUCCESS;
}

/* Returns whether QMPIX_Service_get lists the services of the layer. It does so even during the
 * init of the layer. */
static bool is_visible(int tool_id)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    return layer &&
           (__atomic_load_n(&layer->ready, __ATOMIC_ACQUIRE) || qmpi_layer_is_initialising(layer));
}

int QMPIX_Service_get(int tool_id, int index, const char **name, int *version)
{
    if (!is_visible(tool_id) || index < 0 || !name || !version)
        return MPI_ERR_ARG;
    const struct service *service = services[tool_id];
    while (service && index--)
        service = service->next;
    if (!service)
        return MPI_ERR_ARG;
    *name = service->name;
    *version = service->version;
    return MPI_SUCCESS;
}

const char *qmpi_service_matching(int tool_id, const char *pattern)
{
    const struct service *service = services[tool_id];
    while (service && fnmatch(pattern, service->name, 0) != 0)
        service = service->next;
    return service ? service->name : NULL;
}

/* ---- Finding --------------------------------------------------------------------------------- */

/* Results of a search, from the worst to the best. */
enum outcome { NOT_OFFERED, WRONG_VERSION, SWITCHED_OFF, FOUND };

struct search {
    const char *name;
    int version;
    enum outcome outcome;
    int offering_id;
    const void *table;
};

static void raise_outcome(struct search *search, enum outcome outcome)
{
    if (search->outcome < outcome)
        search->outcome = outcome;
}

static void search_layer(struct search *search, int tool_id)
{
    const struct qmpi_layer *layer = qmpi_layer_get(tool_id);
    const bool ready = __atomic_load_n(&layer->ready, __ATOMIC_ACQUIRE);
    const struct service *service = ready ? services[tool_id] : NULL;
    for (; service && search->outcome != FOUND; service = service->next) {
        if (strcmp(service->name, search->name) != 0)
            continue;
        if (major_of(service->version) != major_of(search->version) ||
            service->version < search->version) {
            raise_outcome(search, WRONG_VERSION);
        } else if (layer_is_enabled && !layer_is_enabled(tool_id)) {
            raise_outcome(search, SWITCHED_OFF);
        } else {
            search->outcome = FOUND;
            search->offering_id = tool_id;
            search->table = service->table;
        }
    }
}

static void search_stack(struct search *search, int tool_id)
{
    for (int other = tool_id + 1; qmpi_layer_get(other) && search->outcome != FOUND; other++)
        search_layer(search, other);
    for (int other = tool_id - 1; other >= 1 && search->outcome != FOUND; other--)
        search_layer(search, other);
}

int QMPIX_Service_find(int tool_id, const char *name, int version, int *offering_id,
                       const void **table)
{
    if (!qmpi_layer_get(tool_id) || !is_service_name(name) || version < 0 || !table)
        return MPI_ERR_ARG;
    struct search search = {.name = name, .version = version};
    search_stack(&search, tool_id);
    switch (search.outcome) {
    case NOT_OFFERED:
        return MPI_ERR_NAME;
    case WRONG_VERSION:
        return MPI_ERR_UNSUPPORTED_OPERATION;
    case SWITCHED_OFF:
        return MPI_ERR_OTHER;
    default:
        *table = search.table;
        if (offering_id)
            *offering_id = search.offering_id;
        return MPI_SUCCESS;
    }
}

/* ---- Watching -------------------------------------------------------------------------------- */

/*
 * Calls the callback until it is up to date. If another thread, or an outer call in this thread, is
 * already doing so, this call only increments `pending`, and the other call repeats its search.
 */
static void call_watch(struct watch *watch, int tool_id)
{
    if (__atomic_fetch_add(&watch->pending, 1, __ATOMIC_ACQ_REL))
        return;
    unsigned changes = 1;
    do {
        struct search search = {.name = watch->name, .version = watch->version};
        search_stack(&search, tool_id);
        if (search.offering_id != watch->offering_id || search.table != watch->table) {
            watch->offering_id = search.offering_id;
            watch->table = search.table;
            watch->callback(tool_id, search.offering_id, search.table, watch->data);
        }
    } while (!__atomic_compare_exchange_n(&watch->pending, &changes, 0, false, __ATOMIC_ACQ_REL,
                                          __ATOMIC_ACQUIRE));
}

void qmpi_service_notify(void)
{
    const struct qmpi_layer *layer;
    for (int tool_id = 1; (layer = qmpi_layer_get(tool_id)); tool_id++) {
        struct watch *watch = __atomic_load_n(&watches[tool_id], __ATOMIC_ACQUIRE);
        if (!__atomic_load_n(&layer->ready, __ATOMIC_ACQUIRE))
            watch = NULL; /* its layer was left out, or its init is running */
        for (; watch; watch = __atomic_load_n(&watch->next, __ATOMIC_ACQUIRE))
            call_watch(watch, tool_id);
    }
}

/* Resets `pending` of all watches in a forked child, where calls that other threads of the parent
 * had begun do not continue. */
static void reset_after_fork(void)
{
    for (int tool_id = 1; tool_id <= QMPI_LAYERS_MAX; tool_id++) {
        for (struct watch *watch = watches[tool_id]; watch; watch = watch->next)
            watch->pending = 0;
    }
}

/* Adds a watch of the layer. Returns false if the layer already has one for the same service and
 * version. */
static bool add_watch(int tool_id, struct watch *added)
{
    static bool prepared;
    pthread_mutex_lock(&watches_lock);
    if (!prepared)
        prepared = pthread_atfork(NULL, NULL, reset_after_fork) == 0;
    struct watch **end = &watches[tool_id];
    while (*end && ((*end)->version != added->version || strcmp((*end)->name, added->name) != 0))
        end = &(*end)->next;
    const bool is_new = !*end;
    if (is_new)
        __atomic_store_n(end, added, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&watches_lock);
    return is_new;
}

static int watch_service(int tool_id, const char *name, int version,
                         QMPIX_Service_changed *callback, void *data)
{
    if (!qmpi_layer_get(tool_id) || !is_service_name(name) || version < 0 || !callback)
        return MPI_ERR_ARG;
    struct watch *watch = calloc(1, sizeof *watch);
    char *copy = strdup(name);
    if (!watch || !copy) {
        free(copy);
        free(watch);
        return MPI_ERR_NO_MEM;
    }
    *watch = (struct watch){.name = copy, .version = version, .callback = callback, .data = data};
    if (!add_watch(tool_id, watch)) {
        free(watch->name);
        free(watch);
        return MPI_ERR_ARG;
    }
    call_watch(watch, tool_id);
    return MPI_SUCCESS;
}

int QMPIX_Service_watch(int tool_id, const char *name, int version, QMPIX_Service_changed *callback,
                        void *data)
{
    return qmpi_layer_note_registration(__func__,
                                        watch_service(tool_id, name, version, callback, data));
}
