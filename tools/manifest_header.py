# SPDX-License-Identifier: MIT
"""Writes a C header with the description and the options that a bundled tool registers. They are read from the tool's
manifest, so that the tool and its manifest agree.

    manifest_header.py MANIFEST HEADER
"""
import json
import sys
from pathlib import Path


def literal(text):
    return "NULL" if text is None else json.dumps(text, ensure_ascii=False)


def header(manifest, name):
    options = [f"    {{{literal(option['name'])}, {literal(option.get('default'))}, {literal(option['help'])}}}, \\"
               for option in manifest.get("options", [])]
    return "\n".join([
        f"/* Generated from {name} by manifest_header.py. */",
        f"#define TOOL_DESCRIPTION {literal(manifest['description'])}",
        "#define TOOL_OPTIONS { \\", *options, "    {NULL, NULL, NULL}}", ""])


def main(source, target):
    manifest = json.loads(Path(source).read_text(encoding="utf-8"))
    Path(target).write_text(header(manifest, Path(source).name), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
