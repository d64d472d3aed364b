#!/bin/sh
# SPDX-License-Identifier: MIT
# smoke.sh QMPI DIR PROGRAM: runs the program under two layers of volume, which is in DIR.
# The program must succeed, the tool must keep the rules of QMPI (--validate), and each layer must report
# what its options ask for.
output=$("$1" run --validate --tool-path "$2" -t volume:volume,min-bytes=16 -- "$3" 2>&1)
status=$?
echo "$output"
[ $status -eq 0 ] &&
    echo "$output" | grep -q '^volume (layer 1): 3 messages, 48 bytes' &&
    echo "$output" | grep -q '^volume (layer 2): 2 messages, 40 bytes'
