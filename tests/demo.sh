#!/usr/bin/env bash
# The four questions, asked of the packed weight_view. Without a GPU the last is answered "unavailable", which is no
# failure here.
#
#   tests/demo.sh BUILD
set -u
build=$1
bundle=$build/bundles/weight_view.tar.zst
rm -rf "$build/demo"

# show ALLOWED-EXIT-CODES COMMAND…
show() {
    local allowed=$1 code
    shift
    printf '\n$ %s\n' "$*"
    "$@"
    code=$?
    case " $allowed " in
    *" $code "*) [ $code -eq 0 ] || echo "(exit $code)" ;;
    *)
        echo "exit $code; the demo ends here"
        exit 1
        ;;
    esac
}

show 0 "$build/replay" version
show 0 "$build/replay" verify "$bundle"
show 0 "$build/replay" resolve "$bundle" --cpu-only
show 0 "$build/replay" resolve "$bundle" --cpu-only --arena
show "0 4" "$build/replay" run "$bundle" --phases 5 --out "$build/demo"
[ -d "$build/demo" ] && show "0 4" "$build/replay" audit "$build/demo"
exit 0
