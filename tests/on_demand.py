# SPDX-License-Identifier: MIT
"""Removes the prerequisites of tests from the target `all`, so that plain `ninja` builds only the product.

Meson before 1.7 makes `all` build everything that tests depend on, even targets with
`build_by_default: false`. Meson runs this script after it has written build.ninja. `meson test` and
`ninja test` still build the prerequisites.
"""
import os
import re
import sys
from pathlib import Path

PREREQUISITES = ("meson-test-prereq", "meson-benchmark-prereq")


def on_demand(text):
    """Returns build.ninja's text, with the prerequisites of tests moved from `all` to the targets
    that run tests."""
    text = re.sub(r"(?m)^build all: phony .*$",
                  lambda line: " ".join(word for word in line[0].split(" ") if word not in PREREQUISITES), text)
    for target, needed in zip(("test", "benchmark"), PREREQUISITES):
        text = re.sub(rf"(?m)^build meson-internal__{target}: CUSTOM_COMMAND all (?!{needed})",
                      rf"\g<0>{needed} ", text)
    return text


def main():
    path = Path(os.environ["MESON_BUILD_ROOT"], "build.ninja")
    before = path.read_text(encoding="utf-8")
    after = on_demand(before)
    if after == before:
        return
    # The new file replaces the old one at once, so that Ninja never reads half of it.
    new = path.with_suffix(".ninja~")
    new.write_text(after, encoding="utf-8")
    new.replace(path)


if __name__ == "__main__":
    sys.exit(main())
