# SPDX-License-Identifier: MIT
# Completion of qmpi, qmpi-openmpi and qmpi-abi in bash. The command itself lists the words: --help lists the commands
# and the options, and `qmpi list` the tools.

# Prints the subcommands.
_qmpi_commands()
{
    "$1" --help 2>/dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'
}

# Prints the options of the subcommand $2. Those with a value end with `=`.
_qmpi_options()
{
    "$1" "$2" --help 2>/dev/null | sed -n 's/^ \{2,6\}\(-., \)\{0,1\}\(--[a-z-]*\(\[\{0,1\}=\)\{0,1\}\).*/\2/p' | tr -d '['
}

# Prints the values of the option $3, which its line in --help lists, as in --on-error=stop|skip.
_qmpi_values()
{
    "$1" "$2" --help 2>/dev/null | sed -n "s/^ .*$3=\\([a-z0-9-]*|[a-z0-9|-]*\\).*/\\1/p" | tr '|' '\n'
}

# Prints the long name of the option $3, such as -f or --format, if its value may be the next word.
_qmpi_valued()
{
    [[ $3 =~ ^--?[A-Za-z][a-z-]*$ ]] || return
    "$1" "$2" --help 2>/dev/null | sed -n "s/^ \\{2,6\\}$3, \\(--[a-z-]*\\)=.*/\\1/p
        s/^ \\{2,6\\}\\(-., \\)\\{0,1\\}\\($3\\)=.*/\\2/p"
}

# Prints the words that can be the first argument of the subcommand $2, besides a file.
_qmpi_words()
{
    "$1" "$2" --help 2>/dev/null | sed -n "s/^ *or: *qmpi $2 \\[OPTION\\.\\.\\.\\] \\([a-z][a-z-]*\\) .*/\\1/p"
}

_qmpi_tools()
{
    "$1" list 2>/dev/null | sed -n 's/^\([A-Za-z0-9_+-][A-Za-z0-9_.+-]*\)  *[^ ].*/\1/p'
}

# Prints the options of the tool $2.
_qmpi_tool_options()
{
    "$1" list 2>/dev/null | awk -v tool="$2" '
        /^[^ ]/ { inside = $1 == tool }
        inside && /^               [^ ]/ && $1 !~ /^env\./ { sub(/=.*/, "", $1); print $1 "=" }'
}

# Completes the last entry of a stack NAME[,KEY=VALUE...][:NAME...], and keeps the text before it. In bash, words may
# end at `:` and `=`. The text that bash takes for earlier words is left out of the answers.
_qmpi_stack()
{
    local whole=$2 before entry tool candidates=() shown
    entry=${whole##*:} before=${whole%"$entry"}
    if [[ $entry == *,* ]]; then
        tool=${entry%%,*}
        before+=${entry%,*}, entry=${entry##*,}
        mapfile -t candidates < <(compgen -W "$(_qmpi_tool_options "$1" "$tool")" -- "$entry")
    else
        mapfile -t candidates < <(compgen -W "$(_qmpi_tools "$1")" -- "$entry")
    fi
    compopt -o nospace 2>/dev/null
    shown=${whole%"$cur"}
    for entry in "${candidates[@]}"; do
        entry=$before$entry
        COMPREPLY+=("${entry#"$shown"}")
    done
}

_qmpi()
{
    local cur=${COMP_WORDS[COMP_CWORD]} line=${COMP_LINE:0:COMP_POINT} words word qmpi=$1 command='' i option value
    COMPREPLY=()
    # The words as the command will receive them, independent of the characters that end words in completion.
    read -ra words <<<"$line"
    [[ $line == *' ' ]] && words+=('')
    local last=$((${#words[@]} - 1)) known='' argument=''
    case "$cur" in ':' | '=') cur='' ;; esac
    for ((i = 1; i < last; i++)); do
        word=${words[i]}
        if [[ -z $command ]]; then
            [[ $word != -* ]] && command=$word
        elif [[ $command == @(run|check|doctor) && $word == -- ]]; then
            known=program
            break
        elif [[ $command == run && $word != -* && ${words[i - 1]} != -[tc] &&
            ${words[i - 1]} != --@(tools|config|debug|mpi|on-error|tool-path) ]]; then
            known=program
            break
        elif [[ $word != -* && -z $(_qmpi_valued "$qmpi" "$command" "${words[i - 1]}") ]]; then
            argument=$word
        fi
    done
    if [[ $known == program ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        compopt -o filenames 2>/dev/null
        return
    fi
    if [[ -z $command ]]; then
        if [[ $cur == -* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "--help --usage --version" -- "$cur")
        else
            mapfile -t COMPREPLY < <(compgen -W "$(_qmpi_commands "$qmpi")" -- "$cur")
        fi
        return
    fi
    word=${words[last]} option='' value=$word
    if [[ $word == --*=* ]]; then
        option=${word%%=*} value=${word#*=}
    else
        option=$(_qmpi_valued "$qmpi" "$command" "${words[last - 1]}")
    fi
    case "$option" in
    --tools)
        _qmpi_stack "$qmpi" "$value"
        return
        ;;
    --tool-path)
        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
        compopt -o filenames 2>/dev/null
        return
        ;;
    '') ;;
    *)
        mapfile -t COMPREPLY < <(compgen -W "$(_qmpi_values "$qmpi" "$command" "$option")" -- "$cur")
        [ ${#COMPREPLY[@]} -gt 0 ] && return
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        compopt -o filenames 2>/dev/null
        return
        ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_qmpi_options "$qmpi" "$command")" -- "$word")
        [[ ${COMPREPLY-} == *= ]] && compopt -o nospace 2>/dev/null
        return
    fi
    mapfile -t COMPREPLY < <(
        [[ -z $argument ]] && compgen -W "$(_qmpi_words "$qmpi" "$command")" -- "$cur"
        compgen -f -- "$cur"
    )
    compopt -o filenames 2>/dev/null
}

complete -F _qmpi qmpi qmpi-openmpi qmpi-abi
