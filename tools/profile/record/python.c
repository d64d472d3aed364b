/* SPDX-License-Identifier: MIT */
/* See python.h. */
#define _GNU_SOURCE
#include "tools/profile/record/python.h"

#include "toolkit/toolkit.h"
#include "tools/profile/result/profile_result.h"
#include "util/util.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Layouts --------------------------------------------------------------------------------- */

/* Offsets in the structures of CPython. */
struct layout {
    size_t frame;        /* in the state of a thread: the current frame, unless `is_nested` */
    bool is_nested;      /* `frame` points to a structure that points to the current frame */
    size_t nested_frame; /* in this structure: the current frame */
    size_t code, instruction, previous, owner;               /* in a frame */
    size_t file, name, lines, first_line, first_instruction; /* in a code object */
    size_t ascii, compact;                                   /* the sizes of the heads of strings */
};

/* Offsets that all supported versions have in common. */
enum { TYPE = 8, LENGTH = 16, STRING_STATE = 32, BYTES_DATA = 32 };

/* Frames with this owner, or a greater one, do not run code of Python. */
enum { FIRST_OTHER_OWNER = 3 };

static const struct layout layout_3_11 = {.frame = 56,
                                          .is_nested = true,
                                          .nested_frame = 8,
                                          .code = 32,
                                          .instruction = 56,
                                          .previous = 48,
                                          .owner = 69,
                                          .file = 112,
                                          .name = 128,
                                          .lines = 136,
                                          .first_line = 72,
                                          .first_instruction = 184,
                                          .ascii = 48,
                                          .compact = 72};

static const struct layout layout_3_12 = {.frame = 56,
                                          .is_nested = true,
                                          .nested_frame = 0,
                                          .code = 0,
                                          .instruction = 56,
                                          .previous = 8,
                                          .owner = 70,
                                          .file = 112,
                                          .name = 128,
                                          .lines = 136,
                                          .first_line = 68,
                                          .first_instruction = 192,
                                          .ascii = 40,
                                          .compact = 56};

/* Since version 3.13, _PyRuntime of CPython begins with a description of the layout: an array of
 * words, most of which are offsets. The members are the indices of the first words of the parts
 * that are read here. Within these parts, the words are the same in all of these versions. */
struct description {
    size_t thread, frame, code, object, bytes, string;
};

static const struct description description_3_13 = {19, 28, 34, 44, 64, 67};
static const struct description description_3_14 = {22, 31, 39, 50, 74, 77};
static const struct description description_3_15 = {22, 39, 47, 58, 86, 89};

static struct layout layout;
static const void *(*find_state)(void); /* the state of this thread */
static int (*is_ending)(void);          /* whether the interpreter is being removed */
static const void *code_type, *string_type, *bytes_type;

/* Whether the layout is right. The first call with frames of Python decides this. Relaxed memory
 * order suffices, because all threads come to the same result, and no other variable depends on
 * it. */
enum { UNKNOWN, RIGHT, WRONG };
static atomic_int layout_state;
static bool layers[256]; /* [tool_id]: whether the layer names lines of Python */

static bool read_description(const void *runtime, const struct description *at,
                             unsigned long version)
{
    enum { COOKIE, VERSION, FREE_THREADED, WORDS = 93 };
    enum { UTF8 = 16 }; /* the size of what follows the head of a string that is not ASCII */
    uint64_t its[WORDS];
    if (!runtime || !tool_safe_copy(its, runtime, sizeof its) ||
        memcmp(&its[COOKIE], "xdebugpy", sizeof *its) != 0 || its[VERSION] != version ||
        its[FREE_THREADED] || its[at->object + 1] != TYPE || its[at->bytes + 1] != LENGTH ||
        its[at->bytes + 2] != BYTES_DATA || its[at->string + 1] != STRING_STATE ||
        its[at->string + 2] != LENGTH)
        return false;
    layout = (struct layout){.frame = its[at->thread + 4],
                             .previous = its[at->frame + 1],
                             .code = its[at->frame + 2],
                             .instruction = its[at->frame + 3],
                             .owner = its[at->frame + 5],
                             .file = its[at->code + 1],
                             .name = its[at->code + 3],
                             .lines = its[at->code + 4],
                             .first_line = its[at->code + 5],
                             .first_instruction = its[at->code + 9],
                             .ascii = its[at->string + 3],
                             .compact = its[at->string + 3] + UTF8};
    return true;
}

/* CPython 3.11.0 is not supported, because its current frame may have been removed already. */
static bool find_layout(unsigned long version)
{
    const void *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");
    switch (version >> 16) {
    case 0x030b:
        layout = layout_3_11;
        return version >= 0x030b0100;
    case 0x030c:
        layout = layout_3_12;
        return true;
    case 0x030d:
        return read_description(runtime, &description_3_13, version);
    case 0x030e:
        return read_description(runtime, &description_3_14, version);
    case 0x030f:
        return read_description(runtime, &description_3_15, version);
    default:
        return false;
    }
}

/* Finds the functions and types of the interpreter in this process. These functions of the
 * interpreter take no lock and allocate no memory. */
static bool find_interpreter(void)
{
    const unsigned long *version = dlsym(RTLD_DEFAULT, "Py_Version");
    void *state = version ? dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState") : NULL;
    void *ending = state ? dlsym(RTLD_DEFAULT, "Py_IsFinalizing") : NULL;
    if (state && !ending)
        ending = dlsym(RTLD_DEFAULT, "_Py_IsFinalizing"); /* before CPython 3.13 */
    if (!ending)
        return false;
    code_type = dlsym(RTLD_DEFAULT, "PyCode_Type");
    string_type = dlsym(RTLD_DEFAULT, "PyUnicode_Type");
    bytes_type = dlsym(RTLD_DEFAULT, "PyBytes_Type");
    memcpy(&find_state, &state, sizeof find_state);
    memcpy(&is_ending, &ending, sizeof is_ending);
    return code_type && string_type && bytes_type && sizeof(void *) == 8 && find_layout(*version);
}

/* ---- Reading objects ------------------------------------------------------------------------- */

/* Whether the frames of this thread may be removed while they are read. An interpreter that ends
 * removes the frames of all threads but that which ends it, and does not wait for threads that call
 * code other than Python's. The thread that ends it is usually the first one of the process. */
enum { NOT_ASKED, STAY, MAY_VANISH };
static _Thread_local int frames_here __attribute__((tls_model("initial-exec")));

static void ask_for_frames(void)
{
    if (frames_here == NOT_ASKED)
        frames_here = syscall(SYS_gettid) == getpid() ? STAY : MAY_VANISH;
}

/* Reads a part of a frame, or of an object to which a frame refers. Returns false if it does not
 * exist any more. ask_for_frames must have been called. */
static inline bool copy_at(void *to, const void *object, size_t offset, size_t size)
{
    const char *const from = (const char *)object + offset;
    if (__builtin_expect(frames_here == MAY_VANISH, 0))
        return tool_safe_copy(to, from, size);
    memcpy(to, from, size);
    return true;
}

/* Returns NULL if the pointer does not exist any more. */
static inline const void *pointer_at(const void *object, size_t offset)
{
    const void *pointer;
    return copy_at(&pointer, object, offset, sizeof pointer) ? pointer : NULL;
}

/* Since 3.14, CPython marks some references in the lowest bits. */
static inline const void *unmark(const void *reference)
{
    enum { MARKS = 3 };
    const uintptr_t bits = (uintptr_t)reference;
    return (const char *)reference - (bits & MARKS);
}

/* The following functions read memory that may not exist. */

static bool read_at(void *to, const void *object, size_t offset, size_t size)
{
    return object && tool_safe_copy(to, (const char *)object + offset, size);
}

static bool has_type(const void *object, const void *type)
{
    const void *its;
    return read_at(&its, object, TYPE, sizeof its) && its == type;
}

static size_t put_character(char *to, unsigned long character)
{
    if (character < 0x80) {
        to[0] = (char)character;
        return 1;
    }
    const size_t more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    for (size_t i = more; i > 0; i--, character >>= 6)
        to[i] = (char)(0x80 | (character & 0x3f));
    to[0] = (char)((0xf00 >> (more + 1) & 0xff) | character);
    return more + 1;
}

/* Longer strings lose their beginning, because the end of a path says more. */
enum { TEXT_MOST = 512, TEXT_SIZE = 4 * TEXT_MOST + 1 };

/* Reads a string as UTF-8. */
static bool read_string(const void *string, char text[TEXT_SIZE])
{
    enum { STEP = 64 };
    int64_t length;
    uint32_t state;
    if (!has_type(string, string_type) || !read_at(&length, string, LENGTH, sizeof length) ||
        !read_at(&state, string, STRING_STATE, sizeof state) || length <= 0)
        return false;
    const size_t size = state >> 2 & 7; /* of a character */
    const bool is_compact = state & 32, is_ascii = state & 64;
    if (!is_compact || (size != 1 && size != 2 && size != 4))
        return false;
    const size_t head = is_ascii ? layout.ascii : layout.compact, end = (size_t)length;
    for (size_t at = end > TEXT_MOST ? end - TEXT_MOST : 0; at < end;) {
        const size_t count = end - at < STEP ? end - at : STEP;
        unsigned char part[4 * STEP];
        if (!read_at(part, string, head + at * size, count * size))
            return false;
        for (size_t i = 0; i < count; i++) {
            unsigned long character = 0;
            for (size_t j = size; j > 0; j--)
                character = character << 8 | part[i * size + j - 1];
            text += put_character(text, character & 0x1fffff);
        }
        at += count;
    }
    *text = '\0';
    return true;
}

/* ---- Line numbers ---------------------------------------------------------------------------- */

/* A table of locations (InternalDocs/code_objects.md of CPython), which is read piece by piece. */
struct locations {
    const void *object;
    size_t at, size;   /* in bytes */
    size_t begin, end; /* the part that is in `bytes` */
    unsigned char bytes[256];
};

/* Returns the next byte, or -1 at the end. */
static int next_byte(struct locations *from)
{
    if (from->at >= from->size)
        return -1;
    if (from->at >= from->end) {
        from->begin = from->at;
        from->end =
            from->size - from->at < sizeof from->bytes ? from->size : from->at + sizeof from->bytes;
        if (!read_at(from->bytes, from->object, BYTES_DATA + from->begin,
                     from->end - from->begin)) {
            from->size = 0;
            return -1;
        }
    }
    return from->bytes[from->at++ - from->begin];
}

/* Reads a number, which is stored in groups of six bits, lowest group first. */
static unsigned read_number(struct locations *from)
{
    unsigned number = 0;
    for (unsigned shift = 0; shift < 30; shift += 6) {
        const int byte = next_byte(from);
        if (byte < 0)
            break;
        number |= ((unsigned)byte & 63U) << shift;
        if (!(byte & 64))
            break;
    }
    return number;
}

/* Returns the change of the line number in the entry that begins with `head`. */
static int read_line_change(struct locations *from, unsigned head)
{
    enum { ONE_LINE = 10, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG = 14 };
    const unsigned kind = head >> 3 & 15;
    if (kind >= ONE_LINE && kind <= ONE_LINE_LAST)
        return (int)(kind - ONE_LINE);
    if (kind != NO_COLUMNS && kind != LONG)
        return 0;
    const unsigned number = read_number(from);
    return number & 1 ? -(int)(number >> 1) : (int)(number >> 1);
}

/* Returns the line of an instruction, or 0 if it has none. */
static int find_line(struct locations *from, int line, size_t instruction)
{
    enum { NO_LINE = 15, FIRST_OF_ENTRY = 0x80 };
    size_t last = 0;
    for (int head = next_byte(from); head >= 0;) {
        line += read_line_change(from, (unsigned)head);
        last += ((unsigned)head & 7) + 1;
        if (instruction < last)
            return (head >> 3 & 15) == NO_LINE ? 0 : line;
        do
            head = next_byte(from);
        while (head >= 0 && !(head & FIRST_OF_ENTRY));
    }
    return 0;
}

static int read_line(const void *code, const char *instruction, const void *table, int first)
{
    enum { UNIT = 2 };
    int64_t size;
    const char *begin = (const char *)code + layout.first_instruction;
    if (!has_type(table, bytes_type) || !read_at(&size, table, LENGTH, sizeof size) || size <= 0)
        return 0;
    struct locations from = {.object = table, .size = (size_t)size};
    return find_line(&from, first, instruction < begin ? 0 : (size_t)(instruction - begin) / UNIT);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Addresses of lines are marked by a bit that no address of the program has. */
#define LINE_MARK (UINT64_C(1) << 63)

/* A line that was seen. It never changes. */
struct line {
    struct python_line known;
    struct line *next;
};

/* A hash table of lists. Any thread may add a complete line at the beginning of a list. Lines are
 * never removed. */
enum { LINE_BUCKETS = 256 };
static _Atomic(struct line *) lines[LINE_BUCKETS];

static struct line *make_line(const char *file, const char *function, int number)
{
    const size_t file_size = strlen(file) + 1, function_size = strlen(function) + 1;
    struct line *line = qmpi_memory_take(sizeof *line + file_size + function_size);
    if (!line)
        return NULL;
    char *text = (char *)(line + 1);
    line->known = (struct python_line){text, text + file_size, number};
    memcpy(line->known.file, file, file_size);
    memcpy(line->known.function, function, function_size);
    return line;
}

/* Returns the line, which is made if it is new, or NULL if memory is exhausted. */
static const struct line *get_line(const char *file, const char *function, int number)
{
    size_t hash = (size_t)number;
    for (const char *at = file; *at; at++)
        hash = hash * 31 + (unsigned char)*at;
    _Atomic(struct line *) *bucket = &lines[hash % LINE_BUCKETS];
    struct line *made = NULL, *first = atomic_load_explicit(bucket, memory_order_acquire);
    do {
        for (struct line *line = first; line; line = line->next) {
            if (line->known.line == number && !strcmp(line->known.file, file))
                return line;
        }
        made = made ? made : make_line(file, function, number);
        if (!made)
            return NULL;
        made->next = first;
    } while (!atomic_compare_exchange_weak_explicit(bucket, &first, made, memory_order_acq_rel,
                                                    memory_order_acquire));
    return made;
}

/* Any word may be given, because a stack walk that fails in code without unwind tables finds words
 * that are not addresses of code. Therefore, the word is compared with the addresses of all lines,
 * and never used as a pointer itself. */
const struct python_line *python_find_line(uint64_t address)
{
    for (size_t i = 0; i < LINE_BUCKETS && address & LINE_MARK; i++) {
        const struct line *line = atomic_load_explicit(&lines[i], memory_order_acquire);
        for (; line; line = line->next) {
            if ((uint64_t)(uintptr_t)line == (address & ~LINE_MARK))
                return &line->known;
        }
    }
    return NULL;
}

/* ---- Places ---------------------------------------------------------------------------------- */

/* What calls MPI. It is NOBODY for a line of Python that calls other code of Python. */
enum caller { NOBODY, LIBRARY, EXTENSION, WRAPPER };

/* The values that together identify a place. The addresses alone are not enough: when code is
 * removed, new code may be made with all its parts at the same addresses, as in a loop that runs
 * generated code. */
struct key {
    const void *caller, *code, *instruction, *file, *name, *lines;
    int64_t first_line, size; /* of `lines` in bytes */
    uint64_t bytes[2];        /* the first ones of `lines` */
};

/* A place that was seen. The thread that changes `state` from EMPTY to MAKING writes the other
 * members, and publishes them with READY. After that, they never change. */
struct place {
    struct key key;
    const struct line *line; /* NULL: unknown */
    bool is_frozen; /* The place is in a module of the interpreter itself, such as importlib. */
    enum caller caller;
    atomic_int state;
};

enum { EMPTY, MAKING, READY };
enum { PLACES_BITS = 14, TRIES = 64 };
static struct place *places;

/* The wrappers of MPI include libffi, because ctypes and cffi call functions through it. */
static enum caller find_caller(const void *address)
{
    const char *path;
    size_t offset;
    if (!address)
        return NOBODY;
    if (QMPIX_Address_find(address, &path, &offset))
        return LIBRARY;
    const char *name = qmpi_text_base_name(path);
    if (strstr(path, "/mpi4py/MPI.") || !strncmp(name, "libffi.", 7) ||
        !strncmp(name, "_ctypes.", 8) || !strncmp(name, "_cffi_backend.", 14))
        return WRAPPER;
    return profile_module_is_extension(path) ? EXTENSION : LIBRARY;
}

static void make_place(struct place *place)
{
    char file[TEXT_SIZE], function[TEXT_SIZE];
    const struct key *key = &place->key;
    const int line = read_line(key->code, key->instruction, key->lines, (int)key->first_line);
    place->caller = find_caller(key->caller);
    if (line <= 0 || !read_string(key->file, file) || !read_string(key->name, function))
        return;
    place->is_frozen = !strncmp(file, "<frozen ", 8);
    place->line = get_line(file, function, line);
}

static bool is_same(const struct key *a, const struct key *b)
{
    return a->instruction == b->instruction && a->caller == b->caller && a->code == b->code &&
           a->file == b->file && a->name == b->name && a->lines == b->lines &&
           a->first_line == b->first_line && a->size == b->size && a->bytes[0] == b->bytes[0] &&
           a->bytes[1] == b->bytes[1];
}

static void say_that_places_are_used_up(void)
{
    static atomic_bool said;
    if (!atomic_exchange_explicit(&said, true, memory_order_relaxed))
        qmpi_printf("profile: more than %d places in Python make MPI calls: the lines of the "
                    "others are unknown",
                    1 << PLACES_BITS);
}

/* Returns the place, which is made if it is new, or NULL if there is no room for it. */
static const struct place *get_place(const struct key *key)
{
    const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t place_hash = (uint64_t)(uintptr_t)key->instruction * odd ^ key->bytes[1];
    const uint64_t hash = (place_hash ^ (uint64_t)(uintptr_t)key->caller ^ key->bytes[0]) * odd;
    for (size_t i = 0; i < TRIES; i++) {
        struct place *place = &places[((hash >> (64 - PLACES_BITS)) + i) % (1 << PLACES_BITS)];
        int state = atomic_load_explicit(&place->state, memory_order_acquire);
        if (state == EMPTY && atomic_compare_exchange_strong(&place->state, &state, MAKING)) {
            place->key = *key;
            make_place(place);
            atomic_store_explicit(&place->state, READY, memory_order_release);
            return place;
        }
        /* Waiting for a place that is being made could last for ever, because a signal may have
         * interrupted the code that makes it. Such a place is made a second time instead. */
        if (state == READY && is_same(&place->key, key))
            return place;
    }
    say_that_places_are_used_up();
    return NULL;
}

/* ---- The frames of this thread --------------------------------------------------------------- */

/* Returns `frame` if it runs code of Python, or else the nearest of its callers that does. Returns
 * NULL if there is none. */
static const void *skip_other_frames(const void *frame)
{
    signed char owner;
    while (frame && copy_at(&owner, frame, layout.owner, sizeof owner)) {
        if (owner < FIRST_OTHER_OWNER)
            return frame;
        frame = pointer_at(frame, layout.previous);
    }
    return NULL;
}

/* Checks, with reads that cannot fault, whether the layout leads to objects of the right types. */
static int check_layout(const void *state)
{
    const void *frame, *code, *part;
    signed char owner = 0;
    if (!read_at(&frame, state, layout.frame, sizeof frame) ||
        (layout.is_nested && frame && !read_at(&frame, frame, layout.nested_frame, sizeof frame)))
        return WRONG;
    while (frame && read_at(&owner, frame, layout.owner, sizeof owner) &&
           owner >= FIRST_OTHER_OWNER) {
        if (!read_at(&frame, frame, layout.previous, sizeof frame))
            return WRONG;
    }
    if (!frame)
        return UNKNOWN; /* This thread runs no code of Python. */
    return read_at(&code, frame, layout.code, sizeof code) && has_type(unmark(code), code_type) &&
                   read_at(&part, unmark(code), layout.file, sizeof part) &&
                   has_type(part, string_type) &&
                   read_at(&part, unmark(code), layout.name, sizeof part) &&
                   has_type(part, string_type) &&
                   read_at(&part, unmark(code), layout.lines, sizeof part) &&
                   has_type(part, bytes_type)
               ? RIGHT
               : WRONG;
}

/* Returns the innermost frame, or NULL if this thread does not run code of Python. */
static inline const void *find_frame(void)
{
    const void *state = is_ending() ? NULL : find_state();
    if (!state)
        return NULL;
    int right = atomic_load_explicit(&layout_state, memory_order_relaxed);
    if (__builtin_expect(right == UNKNOWN, 0)) {
        right = check_layout(state);
        atomic_store_explicit(&layout_state, right, memory_order_relaxed);
    }
    if (right != RIGHT)
        return NULL;
    ask_for_frames();
    const void *frame = pointer_at(state, layout.frame);
    if (layout.is_nested && frame)
        frame = pointer_at(frame, layout.nested_frame);
    return skip_other_frames(frame);
}

static const struct place *find_place(const void *caller, const void *frame)
{
    const char *code = unmark(pointer_at(frame, layout.code));
    int first_line;
    if (!code || pointer_at(code, TYPE) != code_type ||
        !copy_at(&first_line, code, layout.first_line, sizeof first_line))
        return NULL;
    struct key key = {.caller = caller,
                      .code = code,
                      .instruction = pointer_at(frame, layout.instruction),
                      .file = pointer_at(code, layout.file),
                      .name = pointer_at(code, layout.name),
                      .lines = pointer_at(code, layout.lines),
                      .first_line = first_line};
    if (!key.lines || !copy_at(&key.size, key.lines, LENGTH, sizeof key.size))
        return NULL;
    const bool is_short = (size_t)key.size < sizeof key.bytes;
    if (!copy_at(key.bytes, key.lines, BYTES_DATA, is_short ? (size_t)key.size : sizeof key.bytes))
        return NULL;
    return get_place(&key);
}

/* Skips *frame and its callers as long as they are in modules of the interpreter itself. Sets
 * *frame to the first other frame, and returns its place. Returns NULL if there is none, or if its
 * line is unknown. */
static const struct place *find_visible(const void *caller, const void **frame)
{
    const struct place *place = NULL;
    while (*frame && (place = find_place(caller, *frame)) && place->is_frozen)
        *frame = skip_other_frames(pointer_at(*frame, layout.previous));
    return *frame && place && place->line ? place : NULL;
}

static void *address_of(const struct line *line)
{
    void *address;
    const uint64_t bits = (uint64_t)(uintptr_t)line | LINE_MARK;
    memcpy(&address, &bits, sizeof address);
    return address;
}

/* Stores the addresses of up to `most` lines, beginning with the line of `place`, which is that of
 * `frame`. Returns their number. */
static size_t find_lines(const struct place *place, const void *frame, void **addresses,
                         size_t most)
{
    size_t count = 0;
    while (place && count < most) {
        addresses[count++] = address_of(place->line);
        frame = count < most ? skip_other_frames(pointer_at(frame, layout.previous)) : NULL;
        place = frame ? find_visible(NULL, &frame) : NULL;
    }
    return count;
}

void python_find_callers(const QMPIX_Call *call, void **callers, size_t depth)
{
    void *caller = NULL;
    size_t count = 0;
    QMPIX_Call_get_caller(call, &caller);
    const void *frame = caller ? find_frame() : NULL;
    const struct place *place = frame ? find_visible(caller, &frame) : NULL;
    if (place && place->caller != LIBRARY) {
        count = find_lines(place, frame, callers, depth - 1);
        if (place->caller == EXTENSION)
            callers[count++] = caller;
    } else {
        int found = 1;
        if (depth == 2)
            callers[0] = caller;
        else
            QMPIX_Call_get_callers(call, (int)depth - 1, callers, &found);
        count = (size_t)found;
        while (count > 0 && !callers[count - 1])
            count--;
        if (count && place)
            callers[count++] = address_of(place->line);
    }
    while (count < depth)
        callers[count++] = NULL;
}

/* ---- Layers ---------------------------------------------------------------------------------- */

bool python_begin(int tool_id)
{
    static bool is_found;
    if (!is_found && (is_found = find_interpreter()))
        places = qmpi_memory_take(sizeof *places << PLACES_BITS);
    layers[tool_id] = is_found && places;
    return layers[tool_id];
}

bool python_is_used(int tool_id)
{
    return layers[tool_id];
}
