/* A scene for tests of the program itself: a folder with the packed small workload and fake workers, and
 * `replay` run in it. */
#ifndef TESTS_REPLAY_RIG_H
#define TESTS_REPLAY_RIG_H

#include "artifacts/base/json.h"
#include "replay/lower.h"
#include "replay/open.h"
#include "tests/support.h"

typedef struct {
    scratch *sc;
    const char *dir;    /* small.tar.zst, fake-worker-MODE as asked for, outputs.bin and what they compile */
    const char *replay; /* the program, beside the folder of this one */
    const char *root;   /* of the bundle, "sha256:…" */
    opened bundle;
    lowering *lowered; /* with the PTX that the bundle retains, as what the fake "compiles" is */
} rig;

/* The worker's outputs are the expected ones with the lowest bit of a few elements changed, others in every
 * fixture: within the contract, and to be told apart. */
void rig_up(rig *g);
void rig_down(rig *g);

typedef struct {
    int code; /* exit status, or 128 + the signal */
    const char *out, *err;
} ran;

/* `replay ARGS` in the folder with $REPLAY_GPU naming the worker of that mode, NULL: one that is not there.
 * `args` is shell text. */
ran rig_run(rig *g, const char *mode, const char *args);
/* The worker of that mode, made where it is not there yet. */
const char *rig_worker(rig *g, const char *mode);
/* A shell command in the folder, with $REPLAY, $REPLAY_GPU and $ROOT set as above: its outcome. */
ran rig_shell(rig *g, const char *mode, const char *command);
/* The folder's file or folder is there. */
bool rig_has(const rig *g, const char *path);

/* Exactly one JSON document, whose `exit` is the code: its root. */
js_node *rig_json(rig *g, const ran *r);
/* The value at a path of keys and indices such as "results/0/verdict"; the test fails where there is none. */
js_node *rig_at(js_node *v, const char *path);
const char *rig_text(js_node *v, const char *path);
uint64_t rig_number(js_node *v, const char *path);
/* Whether `findings` of this object holds one of that id at that file (NULL: any) whose place begins so
 * (NULL: any). */
bool rig_found(js_node *v, const char *id, const char *file, const char *at);
/* All findings of this object, for messages. */
const char *rig_list(rig *g, js_node *v);

#endif
