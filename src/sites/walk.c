/* SPDX-License-Identifier: MIT */
/*
 * The callers of an MPI call: the return addresses from the frame of the trampoline
 * (dispatch/node.h) up the stack. The rules that lead from frame to frame (frame_rule.h) are stored
 * for each return address, so that a step is as fast as a look-up in a table.
 */
#define _GNU_SOURCE
#include "dispatch/dispatch.h"
#include "redirect/redirect.h"
#include "sites/arch/registers.h"
#include "sites/frame_rule.h"
#include "sites/modules.h"
#include "sites/sites.h"
#include "util/util.h"

#include <qmpi/observer.h>

#include <stdatomic.h>
#include <string.h>

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* A stack on which a thread runs. This structure is never freed, because a thread may be using it,
 * but reused for a stack that is mapped at the same place later. */
struct stack_range {
    struct qmpi_call_stack stack;
    struct stack_range *next;
};
/* A list. Ranges are added at the front by an exchange, once they are complete, and never
 * removed. */
static _Atomic(struct stack_range *) ranges;

/* The stack of this thread's last walk. */
static _Thread_local const struct stack_range *current __attribute__((tls_model("initial-exec")));

static bool holds_address(const struct stack_range *range, uintptr_t address)
{
    return range && address > range->stack.begin && address <= range->stack.end;
}

static const struct stack_range *find_stack_range(uintptr_t address)
{
    struct stack_range *range = atomic_load(&ranges);
    while (range && !holds_address(range, address))
        range = range->next;
    if (range)
        return range;
    const struct qmpi_call_stack stack = qmpi_call_stack_find(address - 1);
    if (!stack.end || !(range = qmpi_memory_take(sizeof *range)))
        return NULL;
    range->stack = stack;
    range->next = atomic_load(&ranges);
    while (!atomic_compare_exchange_weak(&ranges, &range->next, range))
        continue;
    return range;
}

/* ---- Stored rules ---------------------------------------------------------------------------- */

/*
 * A table with one word for each return address. Any thread and any signal handler can read and
 * write a word as a whole. An address that has the same place as another one replaces it. A rule is
 * valid for each call that returns to its address, whatever other frames are on the stack. From the
 * highest bits down, a word contains:
 *
 *     the address, without the bits that the place determines
 *     `offset` of the rule, in units of the stack; negated for QMPI_FRAME_SAVED
 *     the places of the return address and the frame pointer: QMPI_SAVED_BITS
 *     the kind of code (enum qmpi_module_code): 2 bits
 *     `base` of the rule: 3 bits
 */
enum {
    PLACE_BITS = 13,
    ADDRESS_BITS = QMPI_CODE_BITS - QMPI_CODE_ZEROS,
    ADDRESS_SHIFT = 64 - (ADDRESS_BITS - PLACE_BITS),
    CODE_SHIFT = 3,
    SAVED_SHIFT = CODE_SHIFT + 2,
    SAVED_MAX = (1 << QMPI_SAVED_BITS) - 1,
    OFFSET_SHIFT = SAVED_SHIFT + QMPI_SAVED_BITS,
    OFFSET_MAX = (1 << (ADDRESS_SHIFT - OFFSET_SHIFT)) - 1,
    RULE_KIND = (1 << SAVED_SHIFT) - 1, /* the kind of code and `base` */
    INSTRUCTION = 1 << QMPI_CODE_ZEROS, /* the size of the shortest one */
    WORD = sizeof(uintptr_t)
};

#define KIND_OF(base, code) ((unsigned)(code) << CODE_SHIFT | (unsigned)(base))

/* Relaxed order is enough after the check of qmpi_module_is_closing, because each word contains its
 * address and no other data depends on it. */
static _Atomic uint64_t table[1 << PLACE_BITS];
/* Whether a rule was stored since the table was cleared. Set after the rule is stored. */
static atomic_bool is_used;

static inline _Atomic uint64_t *rule_slot_of(uintptr_t address)
{
    const uintptr_t number = address >> QMPI_CODE_ZEROS;
    return &table[(number ^ number >> PLACE_BITS) & ((1 << PLACE_BITS) - 1)];
}

/* Returns whether a word of the table is the rule for `address`, which has the place of the
 * word. */
static inline bool is_rule_of(uint64_t word, uintptr_t address)
{
    return word >> ADDRESS_SHIFT == address >> (QMPI_CODE_ZEROS + PLACE_BITS);
}

static inline uintptr_t offset_of(uint64_t word)
{
    return (uintptr_t)(word >> OFFSET_SHIFT & OFFSET_MAX) * QMPI_STACK_UNIT;
}

static inline unsigned saved_of(uint64_t word)
{
    return (unsigned)(word >> SAVED_SHIFT) & SAVED_MAX;
}

static inline enum qmpi_frame_base base_of(uint64_t word)
{
    return (enum qmpi_frame_base)(word & ((1 << CODE_SHIFT) - 1));
}

/* Packs a rule into a word. A rule with too large numbers is stored as unknown. */
static uint64_t pack_rule(uintptr_t address, const struct qmpi_frame_rule *rule,
                          enum qmpi_module_code code)
{
    const bool goes_down = rule->base == QMPI_FRAME_SAVED;
    const int64_t offset = goes_down ? (int64_t) - (uint64_t)rule->offset : rule->offset;
    const bool goes_up =
        rule->base != QMPI_FRAME_SP || (offset > 0 && rule->ra <= offset / (int64_t)WORD);
    const uint64_t number = address >> (QMPI_CODE_ZEROS + PLACE_BITS);
    const uint64_t word = number << ADDRESS_SHIFT | (uint64_t)code << CODE_SHIFT;
    unsigned saved = 0;
    if (rule->base == QMPI_FRAME_SIGNAL || rule->base == QMPI_FRAME_END)
        return word | (uint64_t)rule->base;
    const bool fits = offset % QMPI_STACK_UNIT == 0 && offset >= 0 &&
                      offset / QMPI_STACK_UNIT <= OFFSET_MAX && goes_up &&
                      qmpi_registers_pack_places(rule, &saved);
    return fits ? word | (uint64_t)(offset / QMPI_STACK_UNIT) << OFFSET_SHIFT |
                      (uint64_t)saved << SAVED_SHIFT | (uint64_t)rule->base
                : word | QMPI_FRAME_UNKNOWN;
}

/* Clears the table. Rules that another thread stores meanwhile may stay: their library is in use,
 * and is not the one that is being closed. */
void qmpi_sites_forget_rules(void)
{
    if (!atomic_exchange(&is_used, false))
        return;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (atomic_load_explicit(&table[i], memory_order_relaxed))
            atomic_store_explicit(&table[i], 0, memory_order_relaxed);
    }
}

/* Finds the rule for an address on the stack. The library that contains the address is in use, so
 * it cannot be closed meanwhile. */
static __attribute__((noinline)) uint64_t learn_rule(uintptr_t address)
{
    bool is_permanent;
    const enum qmpi_module_code code = qmpi_module_find_code(address, &is_permanent);
    const struct qmpi_frame_rule rule = qmpi_frame_rule_find(address);
    const uint64_t word = pack_rule(address, &rule, code);
    if (is_permanent && !qmpi_module_is_closing() && !(address >> QMPI_CODE_BITS)) {
        atomic_store(rule_slot_of(address), word);
        atomic_store(&is_used, true);
    }
    return word;
}

static inline uint64_t look_up_rule(uintptr_t address)
{
    /* `is_closing` must be loaded before the word. The rules of a library are cleared before its
     * closing ends, so the word is not a rule of a closed library if `is_closing` is false. */
    const bool is_closing = qmpi_module_is_closing();
    const uint64_t word = atomic_load_explicit(rule_slot_of(address), memory_order_relaxed);
    const bool known = is_rule_of(word, address) && !is_closing;
    return __builtin_expect(known, 1) ? word : learn_rule(address);
}

static inline enum qmpi_module_code code_of(uint64_t word)
{
    return (enum qmpi_module_code)(word >> CODE_SHIFT & 3);
}

/* Returns the kind of code at a return address. */
static enum qmpi_module_code code_at(uintptr_t address)
{
    return code_of(look_up_rule(address));
}

/* ---- Callers --------------------------------------------------------------------------------- */

/* The callers, as QMPIX_Call_get_callers returns them. */
struct callers {
    void **all;
    int capacity, count;
    int start_count; /* the number of addresses at the end of the list that may be in the code that
                        calls `main` */
};

/* Adds an address, innermost first. Returns whether more are needed. Addresses in the code that
 * calls `main` are left out if they are the last ones of the stack. */
static inline bool add_caller(struct callers *callers, uintptr_t address,
                              enum qmpi_module_code code)
{
    if (code == QMPI_CODE_BETWEEN || (code == QMPI_CODE_LAYER && callers->count))
        return true;
    if (callers->count == callers->capacity)
        return code == QMPI_CODE_START;
    callers->all[callers->count++] = (void *)address;
    callers->start_count = code == QMPI_CODE_START ? callers->start_count + 1 : 0;
    return callers->count < callers->capacity || callers->start_count;
}

/* Completes the list, because the walk is at the end of the stack. */
static inline void end_callers(struct callers *callers)
{
    callers->count -= callers->start_count;
}

/* ---- Walking --------------------------------------------------------------------------------- */

/* The position of a walk. */
struct position {
    uintptr_t address;         /* return address of this frame */
    uintptr_t cfa;             /* the stack pointer after that return */
    const uintptr_t *fp_place; /* where the frame pointer of this position is stored; NULL:
                                  unknown */
    const uintptr_t *ra_place; /* where the register for return addresses is stored, if the code was
                                  interrupted */
    uintptr_t begin;           /* `cfa` at the beginning of the walk */
    uintptr_t end;             /* end of the stack */
    int signals;               /* number of signal frames crossed */
    bool was_interrupted;      /* `address` is not a return address, but that of the interrupted
                                  instruction + INSTRUCTION */
};

/* Returns the address of the position as tools get it. */
static inline uintptr_t shown_address(const struct position *position)
{
    return position->address - (position->was_interrupted ? INSTRUCTION : 0);
}

static inline const uintptr_t *stack_word(uintptr_t address)
{
    return (const uintptr_t *)address;
}

/* Returns whether an address is that of a word in the part of the stack that the walk has not
 * passed yet. */
static inline bool is_ahead(const struct position *position, uintptr_t address)
{
    return address % WORD == 0 && address >= position->cfa && address < position->end;
}

static bool find_fp(const struct position *position, uintptr_t *fp);

/* The position of the caller of the function that contains this macro, without the end of the
 * stack. */
#define HERE()                                                                                     \
    ((struct position){.address =                                                                  \
                           (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)),  \
                       .cfa = (uintptr_t)QMPI_THIS_FRAME(),                                        \
                       .begin = (uintptr_t)QMPI_THIS_FRAME(),                                      \
                       .fp_place = QMPI_SAVED_FRAME_POINTER()})

/* Returns the CFA of a frame whose rule needs the frame pointer, or 0 if it is unknown. May also
 * set the place of the frame pointer in `position`. If no place is known yet, stores the frame
 * pointer in *first_fp, which must exist until the walk ends, and uses that place. */
static __attribute__((noinline)) uintptr_t find_cfa(struct position *position, uint64_t word,
                                                    uintptr_t *first_fp)
{
    const uintptr_t offset = offset_of(word);
    const enum qmpi_frame_base base = base_of(word);
    if (base <= QMPI_FRAME_END || base == QMPI_FRAME_LEAF)
        return 0;
    if (!position->fp_place) {
        if (!find_fp(position, first_fp))
            return 0;
        position->fp_place = first_fp;
    }
    const uintptr_t fp = *position->fp_place;
    uintptr_t cfa = base == QMPI_FRAME_SP ? position->cfa + offset : fp + offset;
    if (base == QMPI_FRAME_SAVED) {
        if (!is_ahead(position, fp - offset))
            return 0;
        cfa = *stack_word(fp - offset);
    }
    if (saved_of(word) == QMPI_SAVED_AT_FP) {
        if (!is_ahead(position, fp))
            return 0;
        position->fp_place = stack_word(fp);
    }
    return is_ahead(position, cfa - WORD) ? cfa : 0;
}

/* Returns whether a word is in the frame of this position, whose CFA is `cfa`. */
static inline bool is_in_frame(const struct position *position, uintptr_t address, uintptr_t cfa)
{
    return address >= position->cfa && address <= cfa - WORD;
}

/* Goes to the caller of interrupted code whose return address is still in its register. The code
 * need not have changed the stack pointer yet. */
static bool leave_leaf(struct position *position, uint64_t word)
{
    const uintptr_t cfa = position->cfa + offset_of(word);
    const uintptr_t place = qmpi_registers_fp_place(saved_of(word), position->cfa, cfa);
    if (!position->ra_place || cfa > position->end)
        return false;
    if (place) {
        if (!is_in_frame(position, place, cfa))
            return false;
        position->fp_place = stack_word(place);
    }
    position->address = qmpi_registers_strip(*position->ra_place);
    position->ra_place = NULL;
    position->cfa = cfa;
    position->was_interrupted = false;
    return true;
}

/* Goes to the next frame, by the rule for this one. */
static inline __attribute__((always_inline)) bool advance_frame(struct position *position,
                                                                uint64_t word, uintptr_t *first_fp)
{
    const unsigned saved = saved_of(word);
    const uintptr_t offset = offset_of(word);
    uintptr_t cfa = position->cfa + offset;
    if (__builtin_expect(base_of(word) != QMPI_FRAME_SP || saved == QMPI_SAVED_AT_FP, 0)) {
        if (QMPI_RETURNS_IN_REGISTER && base_of(word) == QMPI_FRAME_LEAF)
            return leave_leaf(position, word);
        struct position here = *position;
        cfa = find_cfa(&here, word, first_fp);
        *position = here;
    }
    if (__builtin_expect(cfa <= position->cfa || cfa > position->end, 0))
        return false;
    const uintptr_t ra_place = qmpi_registers_ra_place(saved, cfa - offset, cfa);
    if (QMPI_RETURNS_IN_REGISTER && __builtin_expect(!is_in_frame(position, ra_place, cfa), 0))
        return false;
    const uintptr_t fp_place =
        saved == QMPI_SAVED_AT_FP ? 0 : qmpi_registers_fp_place(saved, cfa - offset, cfa);
    if (__builtin_expect(fp_place >= position->cfa, 1))
        position->fp_place = stack_word(fp_place);
    else if (fp_place && !position->was_interrupted)
        return false; /* a place below this frame is right only in code that was interrupted at the
                         end of a function, where the register contains the caller's frame pointer
                         again */
    position->address = qmpi_registers_strip(*stack_word(ra_place));
    position->cfa = cfa;
    position->was_interrupted = false;
    if (QMPI_RETURNS_IN_REGISTER)
        position->ra_place = NULL;
    return true;
}

/*
 * Finds the frame pointer at the beginning of the walk (position->begin). Functions of libqmpi
 * between that beginning and this function may have saved it, so a second walk leads from this
 * function to the beginning. No frame from the beginning to `position` has changed the frame
 * pointer.
 */
static __attribute__((noinline)) bool find_fp(const struct position *position, uintptr_t *fp)
{
    struct position inner = HERE();
    inner.end = position->end;
    while (inner.cfa < position->begin) {
        if (!advance_frame(&inner, look_up_rule(inner.address), NULL))
            return false;
    }
    *fp = *inner.fp_place;
    return inner.cfa == position->begin;
}

static bool use_stack_range(struct position *position)
{
    if (__builtin_expect(!holds_address(current, position->cfa), 0))
        current = find_stack_range(position->cfa);
    position->end = current ? current->stack.end : 0;
    return current != NULL;
}

/*
 * Goes to the code that a signal interrupted, perhaps on another stack. At some instructions, the
 * rules of compilers are wrong; such a rule usually leads to an address without a rule, which ends
 * the walk. If the tables of a library (.eh_frame) are damaged, arbitrary words on the stack may
 * look like a signal frame. Therefore, the stack pointer in the signal frame must point to a stack,
 * and the number of signal frames is limited.
 */
static __attribute__((noinline)) bool cross_signal(struct position *position)
{
    enum { SIGNALS_MAX = 64 };
    const uintptr_t frame = position->cfa;
    if (position->end < frame || position->end - frame < sizeof(qmpi_registers_frame) ||
        position->signals == SIGNALS_MAX)
        return false;
    const struct qmpi_registers interrupted =
        qmpi_registers_read((const qmpi_registers_frame *)frame);
    const bool same = interrupted.sp >= frame && interrupted.sp < position->end;
    *position = (struct position){.address = interrupted.address + INSTRUCTION,
                                  .cfa = interrupted.sp,
                                  .begin = interrupted.sp,
                                  .fp_place = interrupted.fp_place,
                                  .ra_place = interrupted.ra_place,
                                  .signals = position->signals + 1,
                                  .was_interrupted = true};
    return interrupted.sp % WORD == 0 && (same || qmpi_call_stack_may_contain(interrupted.sp)) &&
           use_stack_range(position);
}

/*
 * Like walk_any, but only for stacks in which each frame belongs to the program or to the code that
 * calls `main`, and has a CFA at a fixed distance from the stack pointer. Most optimized programs
 * have such stacks. Returns false if there is another frame, or a frame whose rule is not stored.
 */
static inline bool walk_usual(struct callers *callers, struct qmpi_frame_entry entry, uintptr_t end)
{
    void **const all = callers->all;
    const int capacity = callers->capacity;
    uintptr_t address = (uintptr_t)qmpi_frame_return_address(entry);
    uintptr_t cfa = qmpi_frame_cfa(entry);
    int count = 0;
    callers->count = 0;
    if (__builtin_expect(qmpi_module_is_closing(), 0))
        return false;
    for (;;) {
        const uint64_t word = atomic_load_explicit(rule_slot_of(address), memory_order_relaxed);
        if (__builtin_expect(!is_rule_of(word, address), 0))
            return false;
        const unsigned kind = word & RULE_KIND;
        if (kind == KIND_OF(QMPI_FRAME_SP, QMPI_CODE_PROGRAM)) {
            if (count < capacity)
                all[count++] = (void *)address;
            callers->count = count;
            if (count == capacity)
                return true;
        } else if (kind == KIND_OF(QMPI_FRAME_SP, QMPI_CODE_START)) {
            if (count < capacity)
                all[count++] = (void *)address;
        } else {
            return kind == KIND_OF(QMPI_FRAME_END, QMPI_CODE_START);
        }
        const uintptr_t bottom = cfa;
        cfa += offset_of(word);
        if (cfa > end)
            return false;
        const uintptr_t place = qmpi_registers_ra_place(saved_of(word), bottom, cfa);
        address = qmpi_registers_strip(*stack_word(place));
    }
}

static __attribute__((noinline)) bool walk_any(struct callers *callers,
                                               struct qmpi_frame_entry entry)
{
    struct callers found = {.all = callers->all, .capacity = callers->capacity};
    const uintptr_t cfa = qmpi_frame_cfa(entry);
    struct position position = {.cfa = cfa, .begin = cfa};
    uintptr_t first_fp;
    if (!use_stack_range(&position))
        return false;
    position.address = (uintptr_t)qmpi_frame_return_address(entry);
    bool more = true;
    while (position.address) { /* 0 in the first function of a coroutine, which has no caller */
        const uint64_t word = look_up_rule(position.address);
        more = add_caller(&found, shown_address(&position), code_of(word));
        if (!more)
            break;
        if (__builtin_expect(advance_frame(&position, word, &first_fp), 1))
            continue;
        if (base_of(word) != QMPI_FRAME_SIGNAL || !cross_signal(&position))
            break; /* this is the outermost frame, or no rule leads further */
    }
    if (more)
        end_callers(&found);
    *callers = found;
    return true;
}

/*
 * Sets `callers` to the return addresses from that of `entry` upwards. The frame of `entry` must be
 * in use. Where no rule leads further, the callers that were found so far are the result. Returns
 * false if the stack that contains the frame is unknown. Reads only this stack, and those on which
 * code was interrupted by a signal whose handler is among the callers. May be called by any thread,
 * also in a signal handler.
 */
static bool walk_up(struct callers *callers, struct qmpi_frame_entry entry)
{
    const struct stack_range *const range = current;
    return (__builtin_expect(holds_address(range, (uintptr_t)entry.frame), 1) &&
            __builtin_expect(walk_usual(callers, entry, range->stack.end), 1)) ||
           walk_any(callers, entry);
}

/* Implements qmpi_call_stack_unwinder (util/call_stack.h), for code that searches for certain
 * frames. */
static __attribute__((noinline)) int walk_all(void **addresses, int capacity)
{
    struct position position = HERE();
    int count = 0;
    if (!use_stack_range(&position))
        return -1;
    while (count < capacity && position.address) {
        const uint64_t word = look_up_rule(position.address);
        addresses[count++] = (void *)shown_address(&position);
        if (!advance_frame(&position, word, NULL) &&
            (base_of(word) != QMPI_FRAME_SIGNAL || !cross_signal(&position)))
            break;
    }
    return count;
}

__attribute__((constructor)) static void use_walk(void)
{
    qmpi_call_stack_use(walk_all);
}

/* ---- The public call ------------------------------------------------------------------------- */

/* The usual number of frames of libraries between libqmpi and the program's call, and the largest
 * number of frames that are unwound. */
enum { BETWEEN_USUAL = 24, BETWEEN_MAX = 256 };

/* Adds unwound addresses from `caller` on. Returns false if addresses that matter may be missing,
 * because `room` was too small. */
static bool add_unwound(struct callers *callers, void *const *frames, int count, int room,
                        const void *caller)
{
    int i = 0;
    while (i < count && frames[i] != caller)
        i++;
    for (; i < count; i++) {
        if (!add_caller(callers, (uintptr_t)frames[i], code_at((uintptr_t)frames[i])))
            return true;
    }
    if (count == room)
        return false;
    end_callers(callers);
    return true;
}

static __attribute__((noinline)) void unwind_callers(struct callers *callers, const void *caller)
{
    void *frames[BETWEEN_MAX];
    const int usual = callers->capacity + BETWEEN_USUAL;
    const int rooms[] = {usual < BETWEEN_MAX ? usual : BETWEEN_MAX, BETWEEN_MAX};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        callers->count = callers->start_count = 0;
        if (add_unwound(callers, frames, qmpi_call_stack_unwind(frames, rooms[i]), rooms[i],
                        caller))
            return;
    }
}

/* Finds the callers if the record of the call is not in the frame of this thread's latest entry, or
 * if walk_up has found none. */
static __attribute__((noinline)) void find_any_callers(struct callers *callers,
                                                       const QMPIX_Call *call)
{
    struct qmpi_frame_entry entry = qmpi_dispatch_thread.entry;
    if (!qmpi_caller_frame_is_of(entry.frame, call))
        entry = qmpi_caller_entry();
    void *const caller = entry.frame ? qmpi_frame_return_address(entry) : qmpi_caller_of_layers();
    callers->count = callers->start_count = 0;
    if (!entry.frame || !walk_up(callers, entry))
        unwind_callers(callers, caller);
    if (!callers->count && (callers->all[0] = caller))
        callers->count = 1; /* there is no code of the program on the stack */
}

int QMPIX_Call_get_callers(const QMPIX_Call *call, int capacity, void **callers, int *count)
{
    struct callers found = {.all = callers, .capacity = capacity};
    if (!call || !count || capacity < 0 || (capacity && !callers))
        return MPI_ERR_ARG;
    const struct qmpi_frame_entry entry = qmpi_dispatch_thread.entry;
    const bool is_found =
        qmpi_caller_frame_is_of(entry.frame, call) && walk_up(&found, entry) && found.count;
    if (__builtin_expect(!is_found, 0) && capacity)
        find_any_callers(&found, call);
    *count = found.count;
    return MPI_SUCCESS;
}
