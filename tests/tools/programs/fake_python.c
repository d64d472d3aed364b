/* SPDX-License-Identifier: MIT */
/*
 * A program that looks like CPython: fake_python CASE [extension]. It exports the symbols of an
 * interpreter, fills the structures behind them itself, and makes calls of MPI_Barrier in frames of
 * Python code that does not exist. With the second argument, the calls are made by the extension
 * fake.abi3.so, a file beside the program.
 */
#include <mpi.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Offsets in the structures of CPython, for each version. The tool profile knows those of 3.11 and
 * 3.12. From 3.13 on, the interpreter exports a description that contains them. */
struct layout {
    unsigned long version;
    size_t nested_frame, code, instruction, previous, owner;
    size_t file, name, lines, first_line, first_instruction, ascii, compact;
};

static const struct layout layouts[] = {
    {0x030b02f0, 8, 32, 56, 48, 69, 112, 128, 136, 72, 184, 48, 72},
    {0x030c01f0, 0, 0, 56, 8, 70, 112, 128, 136, 68, 192, 40, 56},
    {0x030d00f0, 0, 16, 24, 40, 90, 200, 216, 160, 96, 240, 40, 56},
    {0x030e00f0, 0, 16, 24, 40, 90, 200, 216, 160, 96, 240, 40, 56},
    {0x030f00f0, 0, 16, 24, 40, 90, 200, 216, 160, 96, 240, 40, 56},
};
enum { V3_11, V3_12, V3_13, V3_14, V3_15 };

/* The positions, in words of _PyRuntime, at which the parts of a description begin. */
static const struct {
    int thread, frame, code, object, bytes, string;
} parts[] = {[V3_13] = {19, 28, 34, 44, 64, 67},
             [V3_14] = {22, 31, 39, 50, 74, 77},
             [V3_15] = {22, 39, 47, 58, 86, 89}};
enum { CURRENT_FRAME = 104 }; /* offset of the current frame in a thread's state, from 3.13 on */

#define EXPORT __attribute__((visibility("default")))

EXPORT unsigned long Py_Version;
EXPORT uint64_t _PyRuntime[128];
EXPORT uint64_t PyCode_Type[8], PyUnicode_Type[8], PyBytes_Type[8];

static const struct layout *layout;
static void *state;
static int ends;

EXPORT void *PyGILState_GetThisThreadState(void);
EXPORT int Py_IsFinalizing(void);

void *PyGILState_GetThisThreadState(void)
{
    return state;
}

int Py_IsFinalizing(void)
{
    return ends;
}

/* ---- Objects --------------------------------------------------------------------------------- */

static void put(void *object, size_t offset, const void *value, size_t size)
{
    memcpy((char *)object + offset, value, size);
}

static void put_pointer(void *object, size_t offset, const void *value)
{
    put(object, offset, &value, sizeof value);
}

static void *make(const void *type, int64_t length)
{
    void *object = calloc(1, 1024);
    put_pointer(object, 8, type);
    put(object, 16, &length, sizeof length);
    return object;
}

static void *make_string(const char *ascii)
{
    const uint32_t state_of_string = 1 << 2 | 1 << 5 | 1 << 6;
    void *string = make(PyUnicode_Type, (int64_t)strlen(ascii));
    put(string, 32, &state_of_string, sizeof state_of_string);
    put(string, layout->ascii, ascii, strlen(ascii));
    return string;
}

static void *make_wide_string(const uint16_t *text, int64_t length)
{
    const uint32_t state_of_string = 2 << 2 | 1 << 5;
    void *string = make(PyUnicode_Type, length);
    put(string, 32, &state_of_string, sizeof state_of_string);
    put(string, layout->compact, text, 2 * (size_t)length);
    return string;
}

/* Entries of a table of locations: a first byte with the kind and the number of units. */
#define ENTRY(kind, units) (0x80 | (kind) << 3 | ((units)-1))

static void *make_lines(void)
{
    static const unsigned char table[] = {
        ENTRY(15, 2),                /* no line */
        ENTRY(0, 1),  0x11,          /* the same line, 10 */
        ENTRY(10, 1), 1,    2,       /* the same line */
        ENTRY(12, 2), 1,    2,       /* the line after the next one, 12 */
        ENTRY(13, 8), 0x48, 3,       /* 100 lines further, 112 */
        ENTRY(14, 1), 0x07, 1, 2, 3, /* 3 lines back, 109 */
    };
    void *bytes = make(PyBytes_Type, sizeof table);
    put(bytes, 32, table, sizeof table);
    return bytes;
}

static void *make_code(void *file, const char *name)
{
    const int first = 10;
    void *code = make(PyCode_Type, 0);
    put_pointer(code, layout->file, file);
    put_pointer(code, layout->name, make_string(name));
    put_pointer(code, layout->lines, make_lines());
    put(code, layout->first_line, &first, sizeof first);
    return code;
}

static void *make_frame(void *code, int unit, void *previous, char owner)
{
    void *frame = calloc(1, 256);
    put_pointer(frame, layout->code, code);
    put_pointer(frame, layout->instruction, (char *)code + layout->first_instruction + 2 * unit);
    put_pointer(frame, layout->previous, previous);
    put(frame, layout->owner, &owner, 1);
    return frame;
}

static void describe(int version)
{
    uint64_t *its = _PyRuntime;
    memcpy(its, "xdebugpy", 8);
    its[1] = layout->version;
    its[parts[version].thread + 4] = CURRENT_FRAME;
    its[parts[version].frame + 1] = layout->previous;
    its[parts[version].frame + 2] = layout->code;
    its[parts[version].frame + 3] = layout->instruction;
    its[parts[version].frame + 5] = layout->owner;
    its[parts[version].code + 1] = layout->file;
    its[parts[version].code + 3] = layout->name;
    its[parts[version].code + 4] = layout->lines;
    its[parts[version].code + 5] = layout->first_line;
    its[parts[version].code + 9] = layout->first_instruction;
    its[parts[version].object + 1] = 8;
    its[parts[version].bytes + 1] = 16;
    its[parts[version].bytes + 2] = 32;
    its[parts[version].string + 1] = 32;
    its[parts[version].string + 2] = 16;
    its[parts[version].string + 3] = layout->ascii;
}

static void begin(int version)
{
    layout = &layouts[version];
    Py_Version = layout->version;
    state = calloc(1, 256);
    if (version < V3_13)
        put_pointer(state, 56, calloc(1, 64));
    else
        describe(version);
}

static void set_frame(void *frame)
{
    void *nested;
    memcpy(&nested, (char *)state + 56, sizeof nested);
    if (layout->version < 0x030d0000)
        put_pointer(nested, layout->nested_frame, frame);
    else
        put_pointer(state, CURRENT_FRAME, frame);
}

/* ---- Cases ----------------------------------------------------------------------------------- */

static void (*call)(void);

static void call_here(void)
{
    MPI_Barrier(MPI_COMM_SELF); /* here */
}

/* Loads the extension, and sets `call` to its function. */
static void load_extension(const char *program)
{
    char path[4096];
    snprintf(path, sizeof path, "%.*s/fake.abi3.so", (int)(strrchr(program, '/') - program),
             program);
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    void *found = dlsym(library, "call_in_extension");
    memcpy(&call, &found, sizeof call);
}

/* Makes calls in all lines of `code`. The frames are, from the innermost on: one that belongs to no
 * code, that of `code`, one of the interpreter's own modules, and that of `caller`. The last
 * call but one has only the last two of these frames, and the last call has only the first one. */
static void call_in_lines(void)
{
    static const uint16_t file[] = {'f', '/', 0x3b4, '.', 'p', 'y'};
    static const int units[] = {0, 2, 3, 5, 6, 13, 14, 15};
    void *caller = make_code(make_string("caller.py"), "caller");
    void *frozen = make_code(make_string("<frozen importlib._bootstrap>"), "import_it");
    void *code = make_code(make_wide_string(file, 6), "Class.method");
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        void *outer = make_frame(frozen, 2, make_frame(caller, 4, NULL, 0), 0);
        set_frame(make_frame(NULL, 0, make_frame(code, units[i], outer, 1), 3));
        call();
    }
    set_frame(make_frame(frozen, 3, make_frame(caller, 14, NULL, 0), 0));
    call();
    set_frame(make_frame(NULL, 0, NULL, 3));
    call();
}

/* Like begin; the current frame then belongs to the function `known`. */
static void begin_in_code(int version)
{
    begin(version);
    set_frame(make_frame(make_code(make_string("known.py"), "known"), 2, NULL, 0));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "", *extension = argc > 2 ? argv[2] : NULL;
    const int version = atoi(name + strcspn(name, ".") + 1) - 11;
    static void *const nowhere = (void *)0x10;
    call = call_here;
    if (extension)
        load_extension(*argv);
    if (!strncmp(name, "3.", 2)) {
        begin(version);
    } else if (!strcmp(name, "free-threaded")) {
        begin_in_code(V3_14);
        _PyRuntime[2] = 1;
    } else if (!strcmp(name, "changed")) { /* the description is that of another version */
        begin_in_code(V3_14);
        Py_Version++;
    } else if (!strcmp(name, "old")) {
        begin_in_code(V3_11);
        Py_Version = 0x030b00f0;
    } else if (!strcmp(name, "new")) {
        begin_in_code(V3_15);
        _PyRuntime[1] = Py_Version = 0x031000f0;
    } else if (!strcmp(name, "ends") || !strcmp(name, "leaves")) {
        begin_in_code(V3_12);
    } else if (!strcmp(name, "elsewhere")) {
        begin_in_code(V3_12);
        set_frame(nowhere);
    } else if (!strcmp(name, "no-code")) {
        begin_in_code(V3_12);
        set_frame(make_frame(nowhere, 2, NULL, 0));
    } else if (!strcmp(name, "other-code")) {
        begin_in_code(V3_12);
        set_frame(make_frame(make_string("text"), 2, NULL, 0));
    } else {
        fprintf(stderr, "unknown case %s\n", name);
        return 1;
    }
    MPI_Init(&argc, &argv);
    if (!strncmp(name, "3.", 2))
        call_in_lines();
    else
        call();
    if (!strcmp(name, "ends")) { /* from now on, the thread's state must not be read */
        ends = 1;
        state = nowhere;
        call();
    }
    if (!strcmp(name, "leaves")) { /* from now on, the thread does not belong to Python */
        state = NULL;
        call();
    }
    MPI_Finalize();
    return 0;
}
