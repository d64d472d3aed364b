/* SPDX-License-Identifier: MIT */
/*
 * See catch.h. The frame that catches is in assembler, with a personality routine of its own (see
 * the Itanium C++ ABI, part 1): it is where the search for a handler ends, whatever was thrown.
 */
#define _GNU_SOURCE
#include "registry/catch.h"

#include "dispatch/dispatch.h"
#include "util/util.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

/* arch/catch_NAME.S: calls function(argument); what it threw, or NULL. */
struct _Unwind_Exception *qmpi_catch_call(void (*function)(int), int argument) QMPI_HIDDEN;
extern const char qmpi_catch_landing[] QMPI_HIDDEN;
_Unwind_Reason_Code qmpi_catch_personality(int version, _Unwind_Action actions,
                                           _Unwind_Exception_Class class,
                                           struct _Unwind_Exception *exception,
                                           struct _Unwind_Context *context) QMPI_HIDDEN;

_Unwind_Reason_Code qmpi_catch_personality(int version, _Unwind_Action actions,
                                           _Unwind_Exception_Class class,
                                           struct _Unwind_Exception *exception,
                                           struct _Unwind_Context *context)
{
    (void)class;
    if (version != 1)
        return _URC_FATAL_PHASE1_ERROR;
    if (actions & _UA_FORCE_UNWIND) /* the thread ends */
        return _URC_CONTINUE_UNWIND;
    if (actions & _UA_SEARCH_PHASE)
        return _URC_HANDLER_FOUND;
    _Unwind_SetGR(context, __builtin_eh_return_data_regno(0), (_Unwind_Word)(uintptr_t)exception);
    _Unwind_SetIP(context, (_Unwind_Ptr)(uintptr_t)qmpi_catch_landing);
    return _URC_INSTALL_CONTEXT;
}

/* What the C++ runtime offers; a program in C does not have it in its global scope. */
struct runtime {
    void *(*begin_catch)(void *exception);
    void (*end_catch)(void);
    const struct type_info {
        const void *table;
        const char *name;
    } * (*current_type)(void);
    char *(*demangle)(const char *name, char *buffer, size_t *length, int *status);
};

static bool find_runtime(const void *code, struct runtime *runtime)
{
    static const char *const names[] = {"__cxa_begin_catch", "__cxa_end_catch",
                                        "__cxa_current_exception_type", "__cxa_demangle"};
    void *found[4];
    Dl_info info;
    struct link_map *map = NULL;
    if (!dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return false;
    void *handle = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    for (size_t i = 0; i < 4; i++) {
        found[i] = handle ? dlsym(handle, names[i]) : NULL;
        if (!found[i])
            return false;
    }
    memcpy(runtime, found, sizeof found);
    return true;
}

static bool is_cpp(const struct _Unwind_Exception *exception)
{
    char class[sizeof exception->exception_class];
    memcpy(class, &exception->exception_class, sizeof class);
    /* The language is in the lower four bytes, of which the last tells primary from dependent. */
    return !memcmp(&class[1], "++C", 3);
}

static char *type_of_current(const struct runtime *runtime)
{
    const struct type_info *type = runtime->current_type();
    if (!type)
        return qmpi_copy("an exception");
    int status = 0;
    const char *mangled = type->name + (*type->name == '*');
    char *plain = runtime->demangle(mangled, NULL, NULL, &status);
    char *text = qmpi_format("an exception of type %s", plain ? plain : mangled);
    free(plain);
    return text;
}

char *qmpi_catch(void (*function)(int), int argument, const void *code)
{
    struct runtime runtime;
    struct _Unwind_Exception *exception = qmpi_catch_call(function, argument);
    if (!exception)
        return NULL;
    if (!is_cpp(exception) || !find_runtime(code, &runtime)) {
        _Unwind_DeleteException(exception);
        return qmpi_copy("an exception");
    }
    runtime.begin_catch(exception);
    char *text = type_of_current(&runtime);
    runtime.end_catch();
    return text;
}
