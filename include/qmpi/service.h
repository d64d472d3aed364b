/* SPDX-License-Identifier: MIT */
/*
 * Services: functions that a layer offers to the other layers of the stack.
 *
 * A service has a name, a version and a table of functions. The tool that offers it installs a
 * header, which defines the structure of the table and declares the service with QMPIX_SERVICE.
 * Tools that use the service include this header; they are not linked with the tool that offers it.
 *
 *     typedef struct regions_table {
 *         const char *(*current)(int offering_id);
 *     } regions_table;
 *     QMPIX_SERVICE(regions, "regions", 1, 0, regions_table)
 *
 * A layer offers services in its `init`. Layers are initialized from the MPI library upwards, so
 * `init` finds only what the layers below offer. QMPIX_Service_watch also reports what layers above
 * offer, as soon as the stack is complete, and reports when a layer is switched off or on.
 *
 * Tools call the functions of a service directly; libqmpi takes no part in such a call. Services do
 * not add to the cost of MPI calls. Tables and their functions exist for the whole run, also while
 * the layer that offers them is switched off.
 *
 * Functions in a table should take the tool_id of the offering layer, because a tool may have
 * several layers. A function must expect calls by several threads. If tools for the standard ABI
 * are to offer or to use the service, nothing in the table may depend on the MPI: no handles, no
 * statuses, and no error class but MPI_SUCCESS. docs/write/services.md contains an example.
 */
#ifndef QMPI_SERVICE_H
#define QMPI_SERVICE_H

#include <qmpi/qmpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Gives the number for a version. `major` is 0 … 32767, and changes if users of the former version
 * would not work with the new one; `minor` is 0 … 65535, and increases if the table gets further
 * members at its end.
 */
#define QMPIX_SERVICE_VERSION(major, minor) ((major) << 16 | (minor))

/*
 * Offers a service to the other layers. They find it when `init` of the layer has succeeded.
 *
 *   name     1 to 255 printable ASCII characters without blanks; copied
 *   version  the version of the table: see QMPIX_SERVICE_VERSION
 *   table    the functions of the service; not copied: it must exist for the whole run
 *
 * A layer may offer a service in several versions with different major numbers. MPI_ERR_ARG also:
 * the layer already offers the service in a version with this major number. MPI_ERR_OTHER: not
 * called from `init` for the layer that is being initialized.
 */
QMPI_API int QMPIX_Service_offer(int tool_id, const char *name, int version, const void *table);

/*
 * Finds a service that another layer offers: the nearest layer below `tool_id` that offers it,
 * otherwise the nearest one above. A version fits if it has the same major number as `version`, and
 * the same minor number or a higher one. Layers that are switched off, and those that offer another
 * version, are passed over.
 *
 *   offering_id  set to the tool_id of the offering layer; NULL: not needed
 *   table        set to its table
 *
 * May be called by any thread, from `init` on, also in a signal handler. In `init`, only layers
 * below are found. MPI_ERR_NAME: no layer offers the service. MPI_ERR_UNSUPPORTED_OPERATION: no
 * version that is offered fits. MPI_ERR_OTHER: all layers that offer a fitting version are off.
 */
QMPI_API int QMPIX_Service_find(int tool_id, const char *name, int version, int *offering_id,
                                const void **table);

/*
 * Callback of QMPIX_Service_watch. `tool_id` and `data` are those given there, `offering_id` and
 * `table` what QMPIX_Service_find returns now. If it finds nothing, `offering_id` is 0, and `table`
 * is NULL.
 */
typedef void QMPIX_Service_changed(int tool_id, int offering_id, const void *table, void *data);

/*
 * Registers a callback that is called whenever the result of QMPIX_Service_find for this layer,
 * name and version changes. Before QMPIX_Service_watch is called, no service counts as found. So
 * the callback is called
 *   - before QMPIX_Service_watch returns, if the service is found already;
 *   - when the stack is complete, if the service is found above: in the thread that makes the first
 *     MPI call, before this call is carried out;
 *   - when a layer is switched off or on, if another layer, or none, offers the service then: in
 *     the thread that switches, before QMPIX_Tool_set_enabled returns, and before the callbacks of
 *     QMPIX_Register_stack_changed.
 *
 * If several callbacks are to be called, those of the layers nearer the application are called
 * first, and those of one layer in the order of registration. A callback is never called by two
 * threads at the same time: if two threads switch layers at the same time, one may call it for
 * both. A callback may make any call, and may switch layers; if this changes the result again, the
 * callback is called again after it has returned. Callbacks of layers that are off are called, too.
 * A callback must return.
 *
 * QMPIX_Service_watch may be called by any thread, from `init` on. MPI_ERR_ARG also: the layer
 * watches this name and version already. MPI_ERR_NO_MEM: memory is exhausted.
 */
QMPI_API int QMPIX_Service_watch(int tool_id, const char *name, int version,
                                 QMPIX_Service_changed *callback, void *data);

/*
 * Returns a service that a layer offers. `index` counts the services of the layer from 0 in the
 * order of QMPIX_Service_offer. The name exists for the whole run. MPI_ERR_ARG also: the layer
 * offers fewer services.
 */
QMPI_API int QMPIX_Service_get(int tool_id, int index, const char **name, int *version);

/*
 * Declares a service in the header of the tool that offers it: defines the functions PREFIX_offer
 * and PREFIX_find, whose types the compiler checks in C and C++. They call QMPIX_Service_offer and
 * QMPIX_Service_find with this name and version.
 *
 *     int PREFIX_offer(int tool_id, const TYPE *table);
 *     int PREFIX_find(int tool_id, int *offering_id, const TYPE **table);
 */
#define QMPIX_SERVICE(PREFIX, name, major, minor, TYPE)                                            \
    static inline int PREFIX##_offer(int tool_id, const TYPE *table)                               \
    {                                                                                              \
        return QMPIX_Service_offer(tool_id, name, QMPIX_SERVICE_VERSION(major, minor), table);     \
    }                                                                                              \
    static inline int PREFIX##_find(int tool_id, int *offering_id, const TYPE **table)             \
    {                                                                                              \
        const void *qmpix_table = NULL;                                                            \
        const int qmpix_result =                                                                   \
            QMPIX_Service_find(tool_id, name, QMPIX_SERVICE_VERSION(major, minor), offering_id,    \
                               table ? &qmpix_table : NULL);                                       \
        if (qmpix_result == MPI_SUCCESS)                                                           \
            *table = (const TYPE *)qmpix_table;                                                    \
        return qmpix_result;                                                                       \
    }

#ifdef __cplusplus
}
#endif
#endif
