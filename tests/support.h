/* Helpers for tests: folders, files, small bundles, other programs. Whatever goes wrong here fails the test
 * at once. Results are lent by the scratch given. */
#ifndef TESTS_SUPPORT_H
#define TESTS_SUPPORT_H

#include "artifacts/base/file.h"
#include "artifacts/base/finding.h"
#include "artifacts/manifest.h"

/* One file of a tree or bundle. */
typedef struct {
    const char *path;
    span bytes;
} t_file;

/* A fresh folder under $TMPDIR or /tmp; t_remove takes it away again. */
const char *t_dir(scratch *sc);
void t_remove(const char *dir);
/* dir/path with these bytes, making folders; returns its full name. */
const char *t_write(scratch *sc, const char *dir, const char *path, span bytes);
void t_write_tree(scratch *sc, const char *dir, const t_file *files, size_t n);
span t_slurp(scratch *sc, const char *path);
/* Overwrite bytes of a file in place. */
void t_patch(const char *path, uint64_t offset_bytes, span bytes);
/* A copy of `s` with one byte changed by xor; and with n bytes cut out at `at` and `in` put there instead. */
span t_flip(scratch *sc, span s, size_t at, uint8_t mask);
span t_splice(scratch *sc, span s, size_t at, size_t n, span in);
bool t_equal(span a, span b);

/* Run a shell command in dir; its exit status, or 128 + the signal. */
int t_shell(const char *dir, const char *command);
/* Whether a program is there to compare with. */
bool t_has(const char *program);

/* A manifest listing these files, sorted, with the roles of their places (`evidence` where they have none),
 * and its text. */
manifest *t_manifest(scratch *sc, const char *name, const t_file *files, size_t n, span *text);
/* The canonical tar stream of manifest.json and these files. */
span t_stream(scratch *sc, span manifest_text, const t_file *files, size_t n);
/* Frames of at most frame_bytes content, each with content size and checksum. */
span t_frames(scratch *sc, span stream, size_t frame_bytes);
/* An archive at dir/NAME.tar.zst of these files, written by store_pack. */
const char *t_bundle(scratch *sc, const char *dir, const char *name, const t_file *files, size_t n);

/* A bundle's files, to be changed one by one. */
enum { T_MAX_FILES = 64 };
typedef struct {
    scratch *sc;
    const char *name; /* of the workload */
    t_file v[T_MAX_FILES];
    size_t n;
} t_tree;

/* The sources of artifacts/workloads/NAME, without capture.json and kernel records. */
void t_sources(t_tree *t, scratch *sc, const char *name);
bool t_has_file(const t_tree *t, const char *path);
span t_bytes(const t_tree *t, const char *path);
void t_put(t_tree *t, const char *path, span bytes);
void t_drop(t_tree *t, const char *path);
/* The one place where `from` stands becomes `to`; anything but one place fails the test. */
span t_replaced(scratch *sc, span s, const char *from, const char *to);
void t_replace(t_tree *t, const char *path, const char *from, const char *to);
/* What a bundle holds beside its sources, made from the files in hand: fixture data for every recipe, a
 * record for every kernel, and a stand-in for the capture's own record. Where plan, arena or calls cannot be
 * read, the record's tables are those of the shipped ones. */
void t_add_fixtures(t_tree *t);
void t_add_records(t_tree *t);
void t_add_capture(t_tree *t);
/* All of it: the whole bundle of the small workload. */
void t_small(t_tree *t, scratch *sc);

/* Whether a finding of this id is there, at this file and place (NULL: any). */
bool t_found(const findings *fs, finding_id id, const char *file, const char *where);
/* All findings as lines "id file where: message", for messages of tests. */
const char *t_list(scratch *sc, const findings *fs);

#endif
