# SPDX-License-Identifier: MIT
"""Turns a preprocessed header into C that pycparser can read: C11 without the GNU extensions.

Headers of MPI libraries and of the system contain extensions that their compiler supports:
attributes, C23, types of the processor, inline functions. No declaration of an MPI function depends
on them, so they are removed, or replaced by something with the same grammar.
"""
import re

TOKEN = re.compile(
    r"""(?P<pragma>^[ \t]*\#[ \t]*pragma\b[^\n]*)
    |(?P<marker>^[ \t]*\#[^\n]*)
    |(?P<space>\s+)
    |(?P<text>(?:[LuU]|u8)?(?:"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    |(?P<word>[A-Za-z_$][\w$]*)
    |(?P<number>\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*)
    |(?P<mark>.)""",
    re.MULTILINE | re.VERBOSE,
)

NOTHING = ""

# The replacements of single words.
WORDS = dict.fromkeys(
    "__extension__ __inline __inline__ __forceinline __restrict __restrict__ _Noreturn __thread "
    "_Thread_local thread_local constexpr __cdecl __stdcall _Nonnull _Nullable _Null_unspecified "
    "__ptr32 __ptr64 __unaligned".split(),
    NOTHING,
)
WORDS |= {
    "__const": "const", "__const__": "const",
    "__volatile": "volatile", "__volatile__": "volatile",
    "__signed": "signed", "__signed__": "signed",
    "__complex__": "_Complex", "__complex": "_Complex",
    "__alignof__": "_Alignof", "__alignof": "_Alignof", "alignof": "_Alignof",
    "nullptr": "0",
    "__int128": "long long", "__int128_t": "long long", "__uint128_t": "unsigned long long",
    "__int8": "char", "__int16": "short", "__int32": "int", "__int64": "long long",
    "__bf16": "float", "__fp16": "float", "_Float16": "float", "_Float32": "float",
    "_Float32x": "double", "_Float64": "double", "_Decimal32": "float", "_Decimal64": "double",
    "_Float64x": "long double", "_Float128": "long double", "__float128": "long double",
    "__float80": "long double", "__ibm128": "long double", "__ieee128": "long double",
    "_Decimal128": "long double",
    "__builtin_va_list": "void *", "__builtin_ms_va_list": "void *",
}  # fmt: skip

# The replacements of words with an argument in parentheses, which is replaced, too.
CALLS = dict.fromkeys(
    "__attribute__ __attribute __declspec __asm__ __asm asm _Alignas alignas _Pragma __pragma".split(),
    NOTHING,
)
CALLS |= {
    "_BitInt": "long long",
    "typeof": "int", "typeof_unqual": "int", "__typeof__": "int", "__typeof": "int",
    "__builtin_offsetof": "0", "__builtin_types_compatible_p": "0", "__builtin_choose_expr": "0",
}  # fmt: skip

SPACES = {"space", "marker", "pragma"}
DECLARATIONS = {"_Static_assert", "static_assert"}
CLOSING = {"(": ")", "[": "]", "{": "}"}


class Reader:
    """Reads the tokens of a text one after the other; `out` is the replacement of those already
    read."""

    def __init__(self, text):
        self.tokens = [(match.lastgroup, match.group()) for match in TOKEN.finditer(text)]
        self.at = 0
        self.out = []
        # The open brackets. There are none between the declarations at file level, nor in a declaration outside of
        # its structures, parameters and arrays.
        self.open = []
        self.last = ["", ""]  # the last two tokens that were neither removed nor replaced
        self.words = dict(WORDS)
        # bool, true and false are keywords since C23. A header for an older C may define the type bool itself; such a
        # header keeps these words.
        if not re.search(r"\btypedef\b[^;]*\bbool\s*;", text):
            self.words |= {"bool": "_Bool", "true": "1", "false": "0"}

    def peek(self):
        """Returns the text of the next token whose kind is not in SPACES."""
        at = self.at
        while at < len(self.tokens) and self.tokens[at][0] in SPACES:
            at += 1
        return self.tokens[at][1] if at < len(self.tokens) else ""

    def drop(self):
        """Skips one token; line numbers are kept. Returns its text, or nothing if its kind is in SPACES."""
        kind, text = self.tokens[self.at]
        self.at += 1
        self.out.append(text if kind == "marker" else "\n" * text.count("\n"))
        return NOTHING if kind in SPACES else text

    def drop_until(self, *ends):
        """Skips everything before one of `ends`; brackets are skipped with their contents."""
        while self.at < len(self.tokens) and self.tokens[self.at][1] not in ends:
            text = self.drop()
            if text in CLOSING:
                self.drop_after(CLOSING[text])

    def drop_after(self, end):
        """Skips everything up to and including `end`."""
        self.drop_until(end)
        if self.at < len(self.tokens):
            self.drop()

    def put(self, text):
        self.out.append(text)
        self.last = [self.last[1], text]

    def read_word(self, word):
        if word in CALLS and self.peek() == "(":
            self.drop_until("(")
            self.drop()
            self.drop_after(")")
            self.out.append(f" {CALLS[word]} ")
        elif word in DECLARATIONS and self.peek() == "(":
            self.drop_after(";")
        elif word in self.words:
            self.out.append(f" {self.words[word]} ")
        else:
            self.put(word)

    def read_mark(self, mark):
        if mark == "[" and self.peek() == "[":  # [[an attribute]]
            self.drop_after("]")
        elif mark == "{" and not self.open and self.last[1] == ")":  # the body of a function
            self.drop_after("}")
            self.put(";")
        elif mark == "=" and not self.open:  # an initializer
            self.drop_until(",", ";")
        elif mark == ":" and "enum" in self.last:  # the type of the enumerators, after the tag
            self.drop_until("{", ";")
        else:
            if mark in CLOSING:
                self.open.append(mark)
            elif mark in CLOSING.values() and self.open:
                self.open.pop()
            self.put(mark)

    def read(self):
        while self.at < len(self.tokens):
            kind, text = self.tokens[self.at]
            self.at += 1
            if kind == "word":
                self.read_word(text)
            elif kind == "mark":
                self.read_mark(text)
            elif kind == "number":
                self.put(text.replace("'", ""))
            elif kind != "pragma":
                self.out.append(text)
        return "".join(self.out)


def simplify(text: str) -> str:
    """Returns `text` without the extensions; its line numbers are kept."""
    return Reader(text).read()
