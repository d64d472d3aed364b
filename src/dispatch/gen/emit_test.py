# SPDX-License-Identifier: MIT
def check(source): return ""
def echo(source): return ""
