#!/usr/bin/env bash
# Golden tests of the command line.
#
#   tests/cli/run.sh [-u] BUILD BUNDLES [NAME…]
#
# A case is a folder beside this file: `cmd` is a shell script, run in an empty folder; `exit`, `stdout` and `stderr` are
# what it must give (absent: 0, and nothing). An expected line is matched as it stands or with `*` for any characters; a
# line that is just `...` stands for any lines. Before the comparison, the folders below are replaced by their names.
#
#   $REPLAY   the program                    $BUNDLES  the packed workloads, NAME.tar.zst
#   $DATA     tests/data                     $SCRATCH  where the script runs
#   $WORKER   the fake worker's program      $GPU      replay-gpu, where it was built
#
# REPLAY_GPU names no program, so that nothing depends on CUDA; a case that wants a worker sets it.
# -u writes what came out over what was expected, where they differ; read the difference before keeping it.
set -u
export LC_ALL=C TERM=dumb

if [ "${1-}" = --one ]; then
    # One case, quietly: its report on stdout, exit 0 where it passed.
    name=$2 case=$CASES/$2
    SCRATCH=$WORK/$name/scratch
    export SCRATCH
    mkdir -p "$SCRATCH"
    code=0
    [ -f "$case/exit" ] && read -r code <"$case/exit"
    (cd "$SCRATCH" && exec timeout "$LIMIT" sh "$case/cmd") </dev/null >"$WORK/$name/raw.stdout" 2>"$WORK/$name/raw.stderr"
    ended=$?

    script=
    for v in SCRATCH BUNDLES DATA WORKER GPU REPLAY; do
        script+="s|$(printf %s "${!v}" | sed 's/[].[\*^$|]/\\&/g')|\$$v|g;"
    done

    # Whether line $2 is what line $1 asks for.
    line_matches() {
        [ "$1" = "$2" ] && return 0
        local p=${1//\\/\\\\}
        p=${p//\[/\\[} p=${p//\?/\\?} p=${p//(/\\(}
        # shellcheck disable=SC2053
        [[ $2 == $p ]]
    }

    # Whether file $2 is what file $1 asks for.
    text_matches() {
        cmp -s "$1" "$2" && return 0
        grep -qE '^\.\.\.$|\*' "$1" || return 1
        local want got i=0 j=0 any=-1 mark=0
        mapfile -t want <"$1"
        mapfile -t got <"$2"
        while [ $j -lt ${#got[@]} ]; do
            if [ $i -lt ${#want[@]} ] && [ "${want[i]}" = ... ]; then
                any=$i mark=$j i=$((i + 1))
            elif [ $i -lt ${#want[@]} ] && line_matches "${want[i]}" "${got[j]}"; then
                i=$((i + 1)) j=$((j + 1))
            elif [ $any -ge 0 ]; then
                mark=$((mark + 1)) j=$mark i=$((any + 1))
            else
                return 1
            fi
        done
        while [ $i -lt ${#want[@]} ] && [ "${want[i]}" = ... ]; do i=$((i + 1)); done
        [ $i -eq ${#want[@]} ]
    }

    rc=0
    if [ "$ended" != "$code" ]; then
        echo "FAIL $name: expected exit $code, found $ended$([ $ended -eq 124 ] && echo " (over $LIMIT s)")"
        rc=1
        [ -n "$UPDATE" ] && echo $ended >"$case/exit"
    fi
    for stream in stdout stderr; do
        sed "$script" "$WORK/$name/raw.$stream" >"$WORK/$name/$stream"
        expected=$case/$stream
        [ -f "$expected" ] || expected=/dev/null
        if ! text_matches "$expected" "$WORK/$name/$stream"; then
            echo "FAIL $name: $stream"
            diff -au --label expected --label found "$expected" "$WORK/$name/$stream" | head -n 60
            rc=1
            if [ -n "$UPDATE" ]; then
                if [ -s "$WORK/$name/$stream" ]; then cp "$WORK/$name/$stream" "$case/$stream"; else rm -f "$case/$stream"; fi
            fi
        fi
    done
    exit $rc
fi

UPDATE=
if [ "${1-}" = -u ]; then
    UPDATE=yes
    shift
fi
if [ $# -lt 2 ]; then
    echo "usage: tests/cli/run.sh [-u] BUILD BUNDLES [NAME…]" >&2
    exit 2
fi
CASES=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) && BUNDLES=$(cd "$2" && pwd) || exit 2
shift 2
DATA=$(dirname "$CASES")/data REPLAY=$build/replay GPU=$build/replay-gpu WORKER=$build/tests/fake-worker
REPLAY_GPU=$build/no-worker
LIMIT=${REPLAY_SANITIZED:+300}
LIMIT=${LIMIT:-60}
WORK=$(mktemp -d "${TMPDIR:-/tmp}/replay-cli.XXXXXX") || exit 2
trap 'chmod -R u+w "$WORK"; rm -rf "$WORK"' EXIT
HOME=$WORK
export CASES BUNDLES DATA REPLAY GPU WORKER REPLAY_GPU LIMIT WORK UPDATE HOME

if [ $# -gt 0 ]; then names=("$@"); else
    names=()
    for d in "$CASES"/*/cmd; do
        [ -f "$d" ] && names+=("$(basename "$(dirname "$d")")")
    done
fi
printf '%s\n' "${names[@]}" |
    xargs -P "$(nproc)" -I{} sh -c 'mkdir -p "$WORK/{}" && bash "$CASES/run.sh" --one "{}" >"$WORK/{}/report" && : >"$WORK/{}/passed"'

passed=0 failed=0
for name in "${names[@]}"; do
    if [ -f "$WORK/$name/passed" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        cat "$WORK/$name/report"
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
