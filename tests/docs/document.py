# SPDX-License-Identifier: MIT
"""Reads a Markdown document as its reader does: files to write, commands to run, and output to
expect.

- A fenced block of `c` or `cc` is a file, if the paragraph before it names one: `late.c`.
- An indented block contains commands.
- A fenced block without a language that follows commands is their output. In it, `...` on its own
  line stands for any lines, and within a line for any text; numbers only need to be numbers.
"""
import re
from dataclasses import dataclass


@dataclass
class Step:
    kind: str  # "file", "commands" or "output"
    text: str
    name: str = ""
    output: str | None = None
    line: int = 0


def read(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    steps, paragraph, i = [], "", 0
    previous = None  # the commands whose output a fenced block without a language would show
    while i < len(lines):
        line = lines[i]
        if line.startswith("```"):
            language, start = line[3:].strip(), i + 1
            i += 1
            while not lines[i].startswith("```"):
                i += 1
            text = "\n".join(lines[start:i]) + "\n"
            names = re.findall(r"`([\w-]+\.\w+)`", paragraph)
            if language in ("c", "cc") and names:
                steps.append(Step("file", text, names[-1], line=start))
            elif not language and previous:
                previous.output = text
            previous = None
        elif line.startswith("    ") and (not paragraph or not lines[i - 1].strip()):
            start = i
            while i < len(lines) and (lines[i].startswith("    ") or not lines[i].strip()):
                i += 1
            text = "\n".join(part[4:] for part in lines[start:i]).strip("\n") + "\n"
            previous = Step("commands", text, line=start + 1)
            steps.append(previous)
            continue
        elif line.strip():
            paragraph = line if not lines[i - 1].strip() else f"{paragraph}\n{line}"
            previous = None
        i += 1
    return steps


def comparable(text):
    """Returns the lines without differences that do not matter: numbers, the number of blanks, and
    empty lines."""
    lines = [re.sub(r"\d+(\.\d+)?", "N", " ".join(line.split())) for line in text.splitlines()]
    return [line for line in lines if line]
