#!/usr/bin/env bash
# What `make lint` asks; every complaint is a line, and any is a failure.
#
#   [MAKE=make] [B=build] [CLANG_FORMAT=clang-format] [CUDA_ISYSTEM='-isystem …'] tests/lint.sh [RULE…]
set -u
export LC_ALL=C
MAKE=${MAKE:-make} B=${B:-build} CLANG_FORMAT=${CLANG_FORMAT:-clang-format} CUDA_ISYSTEM=${CUDA_ISYSTEM-}

if git rev-parse --git-dir >/dev/null 2>&1; then
    mapfile -t files < <(git ls-files --cached --others --exclude-standard | sort -u)
else
    mapfile -t files < <(find . -type f -not -path "./$B/*" -not -path './.git/*' | cut -c3- | sort)
fi
# Those of the given names that are still there: of(pattern…), as one a line.
of() {
    local f p
    for f in "${files[@]}"; do
        for p in "$@"; do
            # shellcheck disable=SC2053
            if [[ $f == $p && -f $f ]]; then
                echo "$f"
                break
            fi
        done
    done
}
mapfile -t sources < <(of '*.[ch]')
mapfile -t headers < <(of '*.h')
mapfile -t product < <(of 'artifacts/*.[ch]' 'plan/*.[ch]' 'arena/*.[ch]' 'verify/*.[ch]' 'gpu/*.[ch]' 'replay/*.[ch]')
mapfile -t scripts < <(of 'tests/*.sh' .ci/run)
mapfile -t texts < <(of '*.[ch]' '*.mk' Makefile '*.sh' '*.py' '*.md' '.ci/run' 'docs/*.json' 'tests/cli/*/cmd')

# Every source, compiled for good: some warnings come from the optimizer only.
rule_warnings() {
    local cc
    for cc in gcc clang; do
        $MAKE --no-print-directory -k -j2 B="$B/lint-$cc" CC=$cc CFLAGS=-Werror objects >/dev/null || echo "warnings: $cc"
    done
}

# Twice, so that its guard is tried too.
rule_headers() {
    local h
    for h in "${headers[@]}"; do
        case $h in gpu/cuda/* | tests/capture/*) [ -n "$CUDA_ISYSTEM" ] || continue ;; esac
        printf '#include "%s"\n#include "%s"\n' "$h" "$h" |
            gcc -std=c17 -D_GNU_SOURCE -I. $CUDA_ISYSTEM -Wall -Wextra -Werror -fsyntax-only -x c - 2>&1 | sed 's/^/headers: /'
    done
}

# A folder includes itself and what stands in its row; a side branch shows no other its headers.
rule_layers() {
    grep -nE '^[ \t]*#[ \t]*include[ \t]*[<"]' "${sources[@]}" | awk '
        function room(path, part, n) {
            n = split(path, part, "/")
            if (n > 2 && part[2] ~ /^(base|cuda|emu|capture)$/) return part[1] "/" part[2]
            return part[1]
        }
        function complain(why) { print "layers: " file ":" line ": " why }
        BEGIN {
            may["artifacts/base"] = ""
            may["artifacts"] = "artifacts/base"
            may["plan"] = may["artifacts"] " artifacts"
            may["arena"] = may["plan"] " plan"
            may["verify"] = may["arena"] " arena"
            may["gpu"] = "artifacts/base"
            may["gpu/cuda"] = may["gpu/emu"] = "artifacts/base gpu"
            may["replay"] = may["verify"] " verify gpu"
            may["tests"] = may["replay"] " replay gpu/emu"
            may["tests/capture"] = ""
            wrapper["cjson/cJSON.h"] = "artifacts/base/json.c"
            wrapper["openssl/"] = "artifacts/base/digest.c artifacts/base/sign.c"
            wrapper["zstd"] = "artifacts/zs.c"
        }
        {
            split($0, head, ":")
            file = head[1]; line = head[2]; from = room(file)
            text = $0; sub(/^[^<"]*/, "", text)
            quoted = substr(text, 1, 1) == "\""
            name = substr(text, 2); sub(/[>"].*/, "", name)
            if (!quoted) {
                for (w in wrapper)
                    if (index(name, w) == 1 && from !~ /^tests/ && index(" " wrapper[w] " ", " " file " ") == 0)
                        complain("<" name "> belongs in " wrapper[w] " alone")
                if (name ~ /^(cuda|cublas|nvrtc|cupti|nvml|nvJitLink)/ && from != "gpu/cuda" && from != "tests/capture")
                    complain("<" name "> belongs in gpu/cuda")
                next
            }
            if (name ~ /\.inc$/ && index(name, "/") == 0) next
            if (system("test -f " name)) { complain("\"" name "\" is not named from the top"); next }
            to = room(name)
            if (to == from) next
            n = split(may[from], ok, " ")
            for (i = 1; i <= n; i++)
                if (ok[i] == to) next
            complain(from " does not include " to " (\"" name "\")")
        }'
}

rule_banned() {
    local never='strcpy|strcat|stpcpy|sprintf|vsprintf|gets|strtok|atoi|atol|atoll|atof|setlocale|alloca|tmpnam|tempnam|mktemp'
    grep -nE "(^|[^A-Za-z0-9_>.])($never)\(" "${sources[@]}" | sed 's/^/banned: /'
    grep -nE '(^|[^A-Za-z0-9_>.])(system|popen|strncpy|strncat|sscanf|rand|srand)\(' "${product[@]}" | sed 's/^/banned: /'
}

rule_format() {
    $CLANG_FORMAT --dry-run -Werror "${sources[@]}" 2>&1 | grep -E 'error:|not found' | sed 's/^/format: /'
}

rule_text() {
    local f
    wc -l "${sources[@]}" "${scripts[@]}" | awk '$1 > 800 && $2 != "total" { print "text: " $2 " has " $1 " lines, over 800" }'
    grep -nE '[ 	]+$' "${texts[@]}" | sed 's/^/text: blanks at the end: /'
    grep -nE '(^|[^A-Za-z0-9_.])/(work|root|home|Users)/' "${texts[@]}" | sed 's/^/text: a path of one machine: /'
    for f in "${texts[@]}"; do
        [ -s "$f" ] && [ -n "$(tail -c 1 "$f")" ] && echo "text: no newline at the end: $f"
    done
}

rule_scripts() {
    if command -v shellcheck >/dev/null; then
        shellcheck -S warning "${scripts[@]}" 2>&1 | sed 's/^/scripts: /'
    else
        echo 'note: no shellcheck, scripts were not looked at' >&2
    fi
}

[ $# -gt 0 ] || set -- layers banned text scripts headers format warnings
bad=0
for rule in "$@"; do
    found=$("rule_$rule")
    if [ -n "$found" ]; then
        printf '%s\n' "$found"
        bad=$((bad + 1))
    fi
done
if [ $bad -gt 0 ]; then
    echo "lint: FAILED, $bad of $# rules"
    exit 1
fi
echo "lint: passed, $# rules"
