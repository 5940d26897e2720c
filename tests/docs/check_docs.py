#!/usr/bin/env python3
"""The documents against the code: tables of ids and commands, links, JSON blocks, and every transcript run again.

    tests/docs/check_docs.py [-u] BUILD

A fenced block marked `console` begins with "$ build/replay …", run from the top folder by sh, without a worker; the lines
below it are what it must print. -u writes transcripts and tables anew: read the difference before keeping it.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
faults, notes = [], []


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as f:
        return f.read()


def fault(text):
    faults.append(text)


def documents():
    """Every Markdown file of the tree, build outputs and hidden folders left out."""
    out = []
    for at, dirs, names in os.walk(TOP):
        dirs[:] = sorted(d for d in dirs if not d.startswith(".") and not (at == TOP and d in ("build", "shared")))
        out += [os.path.relpath(os.path.join(at, n), TOP) for n in sorted(names) if n.endswith(".md")]
    return out


def x_macro(path, name):
    """(id, text) of every X(symbol, "id", "text") of that macro."""
    body = re.search(r"#define %s\(X\)((?:.*\\\n)*.*)" % name, read(path)).group(1)
    return re.findall(r'^\s*X\(\w+,\s*"([^"]+)",[\s\\]*"([^"]+)"\)', body, re.M)


def table(path, head, rows, update):
    """The table below the line `head` has just these rows, `id` and text, in this order."""
    text = read(path)
    want = "".join("| `%s` | %s |\n" % row for row in rows)
    found = re.search(re.escape(head) + r"\n\|---\|---\|\n((?:\|.*\n)*)", text)
    if not found:
        fault("%s: no table %s" % (path, head))
    elif found.group(1) != want:
        if update:
            with open(os.path.join(TOP, path), "w", encoding="utf-8") as f:
                f.write(text[: found.start(1)] + want + text[found.end(1):])
            return
        have = set(found.group(1).splitlines())
        for line in want.splitlines():
            if line not in have:
                fault("%s: expected the line %s" % (path, line))
        for line in have - set(want.splitlines()):
            fault("%s: the code does not have %s" % (path, line))
        if have == set(want.splitlines()):
            fault("%s: the rows of %s are not in the code's order" % (path, head))


def rules(path, build, update):
    """The last table of `path` is what `replay resolve --rules` prints."""
    want, text = transcript("build/replay resolve --rules", build), read(path)
    at = text.find(want.splitlines()[0] + "\n")
    if at < 0 or (not update and text[at:] != want):
        fault("%s: its table is not what replay resolve --rules prints" % path)
    elif update:
        with open(os.path.join(TOP, path), "w", encoding="utf-8") as f:
            f.write(text[:at] + want)


def commands():
    """README's table names the commands of cmd_help.c, and no option that the usage text lacks."""
    code = re.findall(r'\{"([a-z]+)", cmd_\w+,\s*"[^"]*",\s*((?:"[^"]*"\s*)+)\}', read("replay/cmd_help.c"))
    usage = dict(code)
    rows = re.findall(r"^\| `([a-z]+)[^`]*` \|(.*)$", read("README.md"), re.M)
    for name, line in rows:
        for option in re.findall(r"`(--?[a-z-]+)", line):
            if option not in usage.get(name, ""):
                fault("README.md: %s has no option %s" % (name, option))
    named = [name for name, _ in rows]
    for name in usage:
        if name not in named:
            fault("README.md: command %s is not in the table" % name)
    for name in named:
        if name not in usage:
            fault("README.md: there is no command %s" % name)


def links(path, text):
    plain = re.sub(r"```.*?```", "", text, flags=re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", plain):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        full = os.path.normpath(os.path.join(TOP, os.path.dirname(path), file)) if file else os.path.join(TOP, path)
        if not os.path.exists(full):
            fault("%s: the link %s leads nowhere" % (path, target))
        elif anchor:
            heads = re.findall(r"^#+ (.*)$", read(os.path.relpath(full, TOP)), re.M)
            slugs = [re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads]
            if anchor not in slugs:
                fault("%s: the link %s leads to no heading" % (path, target))


def json_blocks(path, text):
    for block in re.findall(r"^```json\n(.*?)^```", text, flags=re.S | re.M):
        try:
            json.loads(block)
        except ValueError as e:
            fault("%s: a JSON block does not parse: %s: %s" % (path, e, block[:60].replace("\n", " ")))


def transcript(command, build):
    env = dict(os.environ, REPLAY_GPU="/nonexistent/replay-gpu", REPLAY_EMU="/nonexistent/replay-emu", LC_ALL="C.UTF-8",
               TERM="dumb", NO_COLOR="1")
    command = re.sub(r"(^|\s)build/replay\b", lambda m: m.group(1) + os.path.join(build, "replay"), command)
    done = subprocess.run(["sh", "-c", command], cwd=TOP, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    out = done.stdout.decode("utf-8", "replace")
    return "".join(line.rstrip() + "\n" for line in out.splitlines())


def consoles(path, text, build, update):
    def again(m):
        command, have = m.group(2), m.group(3)
        missing = [a for a in re.findall(r"\bartifacts/evidence/[\w.]+", command) if not os.path.exists(os.path.join(TOP, a))]
        if missing:
            notes.append("%s: not run, %s is not there: $ %s" % (path, missing[0], command))
            return m.group(0)
        want = transcript(command, build)
        if want != have and not update:
            w, h = want.splitlines(), have.splitlines()
            at = next((i for i, (a, b) in enumerate(zip(w, h)) if a != b), min(len(w), len(h)))
            fault("%s: $ %s\n  line %d says   %s\n  it prints now  %s"
                  % (path, command, at + 1, h[at] if at < len(h) else "(nothing)", w[at] if at < len(w) else "(nothing)"))
        return m.group(1) + want + m.group(4)

    new = re.sub(r"(^```console\n\$ ([^\n]*)\n)(.*?)(^```$)", again, text, flags=re.S | re.M)
    if update and new != text:
        with open(os.path.join(TOP, path), "w", encoding="utf-8") as f:
            f.write(new)


def example(build):
    """docs/exporting.md quotes the examples, and the first packs and verifies; a transcript runs the second."""
    program = read("tests/docs/export_example.py") + read("tests/docs/export_xla.py")
    for block in re.findall(r"^```python\n(.*?)^```", read("docs/exporting.md"), flags=re.S | re.M):
        if block not in program:
            fault("docs/exporting.md: no example holds %s" % block.strip().splitlines()[0])
    replay = os.path.abspath(os.path.join(build, "replay"))
    with tempfile.TemporaryDirectory() as tmp:
        for argv in ([sys.executable, os.path.join(TOP, "tests/docs/export_example.py"), tmp + "/sources"],
                     [replay, "pack", tmp + "/sources", "-o", tmp + "/example.tar.zst"],
                     [replay, "verify", tmp + "/example.tar.zst"]):
            done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            if done.returncode:
                fault("the example: %s: exit %d\n%s" % (" ".join(argv[:2]), done.returncode, done.stdout.decode()[-2000:]))
                return


def main():
    update = "-u" in sys.argv[1:]
    args = [a for a in sys.argv[1:] if a != "-u"]
    if len(args) != 1:
        sys.exit(__doc__)
    build = os.path.abspath(args[0])
    table("docs/verdicts.md", "| id | it says |", x_macro("artifacts/base/finding.h", "FINDINGS"), update)
    table("docs/resolver.md", "| rule | what it says |", x_macro("plan/resolve.h", "RESOLVE_RULES"), update)
    table("docs/resolver.md", "| rule of given | what it says |", x_macro("plan/resolve.h", "GIVEN_RULES"), update)
    rules("docs/resolver-calls.md", build, update)
    commands()
    paths = documents()
    for path in paths:
        text = read(path)
        links(path, text)
        json_blocks(path, text)
        consoles(path, text, build, update)
    example(build)
    for line in notes + faults:
        print(line)
    print("%d documents, %d transcripts not run, %d faults" % (len(paths), len(notes), len(faults)))
    sys.exit(1 if faults else 0)


main()
