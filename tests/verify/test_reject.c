/* Saying no well: the bundle of the small workload, one thing broken at a time, and exactly the finding that
 * this makes. */
#include "artifacts/safetensors.h"
#include "artifacts/tar.h"
#include "tests/support.h"
#include "verify/verify.h"
#include <criterion/criterion.h>
#include <stdio.h>

/* When a change is made. What is made later is made from what is then in hand, so that each change is alone:
 * kernel records from sources and PTX, then capture.json, then manifest.json, then the archive. Fixture data
 * is that of the shipped recipes. */
typedef enum { SOURCES, RECORDED, CAPTURED, LISTED, STAGES } stage;

typedef struct {
    stage when;
    const char *path, *from, *to; /* from NULL: the whole file; to NULL as well: the file is dropped */
} edit;

/* What the archive is made of the canonical stream; NULL: frames as store_pack writes them. */
typedef span (*container)(scratch *sc, span stream);

typedef enum { NO_OPTION, OTHER_ROOT, OTHER_CAPTURE, OTHER_PTX } option;

typedef struct {
    const char *what;
    edit edits[5];
    finding_id id;
    const char *file, *where; /* NULL: any */
    const char *also;         /* ids of findings that come with it, anywhere; NULL: none */
    container container;
    option option;
} reject_case;

#define FINDS(sym, at, place) .id = FIND_##sym, .file = at, .where = place
#define SUB(when, path, from, to)                                                                            \
    {                                                                                                        \
        when, path, from, to                                                                                 \
    }
#define PUT(when, path, bytes)                                                                               \
    {                                                                                                        \
        when, path, NULL, bytes                                                                              \
    }
#define DROP(when, path)                                                                                     \
    {                                                                                                        \
        when, path, NULL, NULL                                                                               \
    }
#define PLAN "plan/plan.json"
#define ARENA "plan/arena.json"
#define CALLS "plan/resolved_calls.json"
#define IR "plan/buffer_ir.txt"
#define TYPED "plan/typed_ops.json"
#define CAST_CU "kernels/000_cast.cu"
#define CAST_PTX "kernels/000_cast.ptx"
#define CAST_JSON "kernels/000_cast.json"
#define ADD_PTX "kernels/001_add.ptx"
#define RANDOM "fixtures/random.json"
#define RANDOM_DATA "fixtures/random.safetensors"
#define GIVEN SUB(SOURCES, PLAN, "luminal-slab/2", "given")
#define EDGE(edge) SUB(SOURCES, PLAN, "\"edges\": [", "\"edges\": [" edge ",")
#define DATA(from, to, buffer, port)                                                                         \
    "{\"from\": " from ", \"to\": " to ", \"buffer\": \"" buffer "\", \"port\": \"" port                     \
    "\", \"kind\": \"data\"}"
#define P16_RANGE(offset)                                                                                    \
    "{\"name\": \"p16\", \"first_step\": 3, \"end_step\": 8, \"offset_bytes\": " offset ", \"bytes\": 1920}"

#define SIXTEEN(x) x x x x x x x x x x x x x x x x
#define SIXTY_FOUR SIXTEEN("[[[[") SIXTEEN("]]]]")

/* --- Containers. --- */

static span uncompressed(scratch *sc, span stream)
{
    (void)sc;
    return stream;
}

/* Where capture.json's header begins, the first after manifest.json. */
static size_t second_header(span stream)
{
    char path[TAR_PATH_MAX + 1];
    uint64_t bytes;
    cr_assert(tar_header_read(stream.p, path, &bytes));
    return (size_t)tar_entry_bytes(bytes);
}

static span with_byte(scratch *sc, span stream, size_t at, char c)
{
    cr_assert_neq(stream.p[at], (uint8_t)c);
    return t_frames(sc, t_splice(sc, stream, at, 1, span_of(&c, 1)), 1 << 22);
}

#define HEADER_BYTE(name, offset, c)                                                                         \
    static span name(scratch *sc, span stream)                                                               \
    {                                                                                                        \
        return with_byte(sc, stream, second_header(stream) + (offset), c);                                   \
    }

HEADER_BYTE(another_name, 0, 'C')
HEADER_BYTE(another_mode, 106, '7')
HEADER_BYTE(another_owner, 265, 'r')
HEADER_BYTE(another_magic, 257, 'U')
HEADER_BYTE(a_link, 156, '2')
HEADER_BYTE(a_device, 156, '3')
HEADER_BYTE(an_extended_header, 156, 'x')
HEADER_BYTE(a_sparse_file, 156, 'S')
HEADER_BYTE(a_folder, 156, '5')

static span padded_otherwise(scratch *sc, span stream)
{
    return with_byte(sc, stream, second_header(stream) - 1, 'x');
}

static span manifest_not_first(scratch *sc, span stream)
{
    size_t first = second_header(stream), second = second_header(span_of(stream.p + first, stream.n - first));
    span swapped = t_splice(sc, stream, first + second, 0, span_of(stream.p, first));
    return t_frames(sc, span_of(swapped.p + first, swapped.n - first), 1 << 22);
}

static span reference_twice(scratch *sc, span stream)
{
    size_t last = 0, end = stream.n - 2 * TAR_BLOCK;
    for (size_t at = 0; at < end; at += second_header(span_of(stream.p + at, stream.n - at)))
        last = at;
    return t_frames(sc, t_splice(sc, stream, end, 0, span_of(stream.p + last, end - last)), 1 << 22);
}

static span another_checksum(scratch *sc, span stream)
{
    span a = t_frames(sc, stream, 1 << 16);
    return t_flip(sc, a, a.n - 1, 1);
}

static span with_skippable_frame(scratch *sc, span stream)
{
    span a = t_frames(sc, stream, 1 << 16);
    return t_splice(sc, a, a.n, 0, span_of("\x50\x2a\x4d\x18\0\0\0\0", 8));
}

static span without_end(scratch *sc, span stream)
{
    return t_frames(sc, span_of(stream.p, stream.n - TAR_BLOCK), 1 << 22);
}

static span cut_short(scratch *sc, span stream)
{
    span a = t_frames(sc, stream, 1 << 16);
    return span_of(a.p, a.n - 10);
}

static span with_trailing_byte(scratch *sc, span stream)
{
    span a = t_frames(sc, stream, 1 << 22);
    return t_splice(sc, a, a.n, 0, span_str("x"));
}

/* --- The table. --- */

static const reject_case cases[] = {
    {"not an archive", {{0}}, FINDS(CONTAINER_ZSTD, "", "byte 0"), .container = uncompressed},
    {"another checksum of a frame",
     {{0}},
     FINDS(CONTAINER_CHECKSUM, NULL, NULL),
     .container = another_checksum},
    {"a skippable frame", {{0}}, FINDS(CONTAINER_SKIPPABLE, "", NULL), .container = with_skippable_frame},
    {"manifest.json not first",
     {{0}},
     FINDS(CONTAINER_ORDER, "", "stream byte 0"),
     .container = manifest_not_first},
    {"another name in a header",
     {{0}},
     FINDS(CONTAINER_NAME, "capture.json", NULL),
     .container = another_name},
    {"another mode in a header",
     {{0}},
     FINDS(CONTAINER_METADATA, "capture.json", NULL),
     .container = another_mode},
    {"an owner in a header",
     {{0}},
     FINDS(CONTAINER_METADATA, "capture.json", NULL),
     .container = another_owner},
    {"another magic", {{0}}, FINDS(CONTAINER_HEADER, "capture.json", NULL), .container = another_magic},
    {"a link", {{0}}, FINDS(CONTAINER_LINK, "capture.json", NULL), .container = a_link},
    {"a device", {{0}}, FINDS(CONTAINER_DEVICE, "capture.json", NULL), .container = a_device},
    {"an extended header",
     {{0}},
     FINDS(CONTAINER_EXTENDED, "capture.json", NULL),
     .container = an_extended_header},
    {"a sparse file", {{0}}, FINDS(CONTAINER_SPARSE, "capture.json", NULL), .container = a_sparse_file},
    {"a folder", {{0}}, FINDS(CONTAINER_TYPE, "capture.json", NULL), .container = a_folder},
    {"padding that is not zero",
     {{0}},
     FINDS(CONTAINER_PADDING, "manifest.json", NULL),
     .container = padded_otherwise},
    {"a file twice", {{0}}, FINDS(FILE_DUPLICATE, "reference.json", NULL), .container = reference_twice},
    {"no second zero block", {{0}}, FINDS(CONTAINER_END, "", NULL), .container = without_end},
    {"ten bytes cut off", {{0}}, FINDS(CONTAINER_TRUNCATED, NULL, NULL), .container = cut_short},
    {"a byte after the end", {{0}}, FINDS(CONTAINER_TRAILING, "", NULL), .container = with_trailing_byte},

    {"a role of another place",
     {SUB(LISTED, "manifest.json", "\"role\": \"contract\"", "\"role\": \"reference\"")},
     FINDS(MANIFEST_INVALID, "manifest.json", "/files/1")},
    {"a path out of the tree",
     {SUB(LISTED, "manifest.json", "\"contract.json\"", "\"../contract.json\"")},
     FINDS(MANIFEST_PATH, "manifest.json", "/files/1")},
    {"a path no bundle has",
     {SUB(LISTED, "manifest.json", "\"contract.json\"", "\"config.json\"")},
     FINDS(MANIFEST_PATH, "manifest.json", "/files/1")},
    {"a path listed twice",
     {SUB(LISTED, "manifest.json", "\"contract.json\"", "\"capture.json\"")},
     FINDS(MANIFEST_DUPLICATE, "manifest.json", "/files/1")},
    {"paths out of order",
     {SUB(LISTED, "manifest.json", "\"contract.json\"", "\"a.json\"")},
     FINDS(MANIFEST_ORDER, "manifest.json", "/files/1")},
    {"paths that differ by case alone",
     {PUT(RECORDED, "evidence/Note", "1"), PUT(RECORDED, "evidence/note", "2")},
     FINDS(MANIFEST_CASE, "manifest.json", NULL)},
    {"a file larger than any",
     {SUB(LISTED, "manifest.json",
          "\"contract.json\",\n      \"bytes\": ", "\"contract.json\",\n      \"bytes\": 9999999")},
     FINDS(MANIFEST_LIMIT, "manifest.json", "/files/1")},
    {"a key the manifest does not have",
     {SUB(LISTED, "manifest.json", "\"omitted\": []", "\"omitted\": [], \"note\": 1")},
     FINDS(JSON_UNKNOWN_KEY, "manifest.json", "/note")},

    {"other bytes",
     {SUB(LISTED, "contract.json", "\"phases\": 5", "\"phases\": 6")},
     FINDS(FILE_DIGEST, "contract.json", "")},
    {"another length",
     {SUB(LISTED, "reference.json", "\n}", "\n }")},
     FINDS(FILE_SIZE, "reference.json", ""),
     .also = "file.digest"},
    {"a listed file that is absent",
     {DROP(LISTED, "reference.json")},
     FINDS(FILE_MISSING, "reference.json", ""),
     .also = "file.digest"},
    {"a document that is not listed",
     {DROP(SOURCES, "contract.json")},
     FINDS(FILE_MISSING, "contract.json", "")},
    {"no plan", {DROP(SOURCES, PLAN)}, FINDS(FILE_MISSING, PLAN, "")},
    {"no arena", {DROP(SOURCES, ARENA)}, FINDS(FILE_MISSING, ARENA, "")},
    {"no resolved calls", {DROP(SOURCES, CALLS)}, FINDS(FILE_MISSING, CALLS, "")},
    {"no buffer summary", {DROP(SOURCES, IR)}, FINDS(FILE_MISSING, IR, "")},
    {"no typed ops", {DROP(SOURCES, TYPED)}, FINDS(FILE_MISSING, TYPED, "")},
    {"no reference", {DROP(SOURCES, "reference.json")}, FINDS(FILE_MISSING, "reference.json", "")},
    {"no capture", {DROP(CAPTURED, "capture.json")}, FINDS(FILE_MISSING, "capture.json", "")},
    {"no source", {DROP(RECORDED, CAST_CU)}, FINDS(FILE_MISSING, CAST_CU, "")},
    {"no PTX", {DROP(RECORDED, CAST_PTX)}, FINDS(FILE_MISSING, CAST_PTX, "")},
    {"no fixture data", {DROP(SOURCES, RANDOM_DATA)}, FINDS(FILE_MISSING, RANDOM_DATA, "")},
    {"a file that is not listed",
     {PUT(LISTED, "surplus.json", "{}")},
     FINDS(FILE_EXTRA, "surplus.json", NULL)},

    {"no JSON", {SUB(SOURCES, PLAN, "\"symbols\": []", "\"symbols\": [,]")}, FINDS(JSON_SYNTAX, PLAN, NULL)},
    {"65 levels",
     {SUB(SOURCES, PLAN, "\"symbols\": []", "\"annotations\": {\"a\": " SIXTY_FOUR "}, \"symbols\": []")},
     FINDS(JSON_DEPTH, PLAN, NULL)},
    {"an empty document", {PUT(SOURCES, "contract.json", "")}, FINDS(JSON_SYNTAX, "contract.json", "byte 0")},
    {"a key twice",
     {SUB(SOURCES, PLAN, "\"symbols\": []", "\"symbols\": [], \"symbols\": []")},
     FINDS(JSON_DUPLICATE_KEY, PLAN, "/symbols")},
    {"a key twice in the capture",
     {SUB(CAPTURED, "capture.json", "\"memcpy\": []", "\"memcpy\": [], \"memcpy\": []")},
     FINDS(JSON_DUPLICATE_KEY, "capture.json", "/memcpy")},
    {"a key the plan does not have",
     {SUB(SOURCES, PLAN, "\"symbols\": []", "\"symbols\": [], \"streams\": 2")},
     FINDS(JSON_UNKNOWN_KEY, PLAN, "/streams")},
    {"a key the contract does not have",
     {SUB(SOURCES, "contract.json", "\"phases\": 5", "\"phases\": 5, \"Phases\": 5")},
     FINDS(JSON_UNKNOWN_KEY, "contract.json", "/Phases")},
    {"a key the arena does not have",
     {SUB(SOURCES, ARENA, "\"slab_bytes\"", "\"slack\": 0, \"slab_bytes\"")},
     FINDS(JSON_UNKNOWN_KEY, ARENA, "/slack")},
    {"a key the calls do not have",
     {SUB(SOURCES, CALLS, "\"alpha\": 1", "\"alpha\": 1, \"algorithm\": 66")},
     FINDS(JSON_UNKNOWN_KEY, CALLS, "/calls/0/algorithm")},
    {"a key the record does not have",
     {SUB(RECORDED, CAST_JSON, "\"entry\"", "\"flags\": [], \"entry\"")},
     FINDS(JSON_UNKNOWN_KEY, CAST_JSON, "/flags")},
    {"a key the capture does not have",
     {SUB(CAPTURED, "capture.json", "\"memcpy\"", "\"host\": \"x\", \"memcpy\"")},
     FINDS(JSON_UNKNOWN_KEY, "capture.json", "/host")},
    {"a key the recipe does not have",
     {SUB(SOURCES, RANDOM, "\"seed\": 2", "\"seed\": 2, \"salt\": 1")},
     FINDS(JSON_UNKNOWN_KEY, RANDOM, "/salt")},
    {"a key the reference does not have",
     {SUB(SOURCES, "reference.json", "\"outputs\"", "\"epsilon\": 0, \"outputs\"")},
     FINDS(JSON_UNKNOWN_KEY, "reference.json", "/epsilon")},
    {"a key that is absent",
     {SUB(SOURCES, ARENA, "\"peak_live_bytes\": 33558528,", "")},
     FINDS(JSON_MISSING_KEY, ARENA, "")},
    {"a capture without its device",
     {SUB(CAPTURED, "capture.json", "\"device\"", "\"advice\"")},
     FINDS(JSON_MISSING_KEY, "capture.json", "")},
    {"a string for a list",
     {SUB(SOURCES, PLAN, "\"symbols\": []", "\"symbols\": \"\"")},
     FINDS(JSON_TYPE, PLAN, "/symbols")},
    {"a negative extent",
     {SUB(SOURCES, PLAN, "\"k\": 56", "\"k\": -56")},
     FINDS(JSON_NUMBER, PLAN, "/nodes/2/spec/k")},
    {"an integer of 2^53",
     {SUB(SOURCES, CALLS, "33554432", "9007199254740992")},
     FINDS(JSON_NUMBER, CALLS, "/calls/0/workspace_bytes")},
    {"a fraction of a byte",
     {SUB(SOURCES, ARENA, "\"slab_bytes\": 33558528", "\"slab_bytes\": 33558528.5")},
     FINDS(JSON_NUMBER, ARENA, "/slab_bytes")},
    {"an unknown policy",
     {SUB(SOURCES, PLAN, "luminal-lt/1", "luminal-lt/2")},
     FINDS(JSON_VALUE, PLAN, "/policy/resolver")},
    {"a newer format",
     {SUB(RECORDED, CAST_JSON, "replay-kernel/0", "replay-kernel/1")},
     FINDS(JSON_VALUE, CAST_JSON, "/format")},
    {"a digest in capitals",
     {SUB(CAPTURED, "capture.json", "\"contract.json\",\n      \"sha256\": \"",
          "\"contract.json\",\n      \"sha256\": \"A")},
     FINDS(JSON_VALUE, "capture.json", NULL)},

    {"another root", {{0}}, FINDS(TRUST_ROOT, "manifest.json", ""), .option = OTHER_ROOT},
    {"another capture from outside",
     {{0}},
     FINDS(TRUST_CAPTURE, "contract.json", ""),
     .option = OTHER_CAPTURE},

    /* Everything behind the capture is recomputed: only its record can tell. */
    {"one character of a kernel",
     {SUB(CAPTURED, CAST_CU, "960ULL", "961ULL")},
     FINDS(IDENTITY_DIGEST, CAST_CU, ""),
     .also = "kernel.source"},
    {"one character of a PTX",
     {SUB(CAPTURED, CAST_PTX, "959", "958")},
     FINDS(IDENTITY_DIGEST, CAST_PTX, ""),
     .also = "kernel.ptx"},
    {"another tolerance",
     {SUB(CAPTURED, "contract.json", "\"atol\": 0.0002", "\"atol\": 0.0003")},
     FINDS(IDENTITY_DIGEST, "contract.json", "")},
    {"another plan in white space alone",
     {SUB(CAPTURED, PLAN, "\"symbols\": []", "\"symbols\":  []")},
     FINDS(IDENTITY_DIGEST, PLAN, "")},
    {"another offset than captured",
     {SUB(CAPTURED, "capture.json", "\"name\": \"p32\",\n        \"offset_bytes\": 256",
          "\"name\": \"p32\",\n        \"offset_bytes\": 512")},
     FINDS(IDENTITY_DIGEST, ARENA, "/ranges/1")},
    {"another range than captured",
     {SUB(CAPTURED, "capture.json", "\"name\": \"p32\"", "\"name\": \"p64\"")},
     FINDS(IDENTITY_DIGEST, ARENA, "/ranges")},
    {"another slab than captured",
     {SUB(CAPTURED, "capture.json", "\"slab_bytes\": 33558528", "\"slab_bytes\": 33558784")},
     FINDS(IDENTITY_DIGEST, ARENA, "/slab_bytes")},
    {"another call than captured",
     {SUB(CAPTURED, "capture.json", "\"trans_b\": true", "\"trans_b\": false")},
     FINDS(IDENTITY_DIGEST, CALLS, "/calls/0/trans_b")},
    {"a call of another node than captured",
     {SUB(CAPTURED, "capture.json", "\"calls\": [\n    {\n      \"node\": 2",
          "\"calls\": [\n    {\n      \"node\": 4")},
     FINDS(IDENTITY_DIGEST, CALLS, "/calls/0/node")},
    {"another launch than captured",
     {SUB(CAPTURED, "capture.json", "\"node\": 6,\n      \"grid\": [4, 1, 1]",
          "\"node\": 6,\n      \"grid\": [5, 1, 1]")},
     FINDS(IDENTITY_DIGEST, PLAN, "/nodes/6")},
    {"a launch captured where none is",
     {SUB(CAPTURED, "capture.json", "\"node\": 6,\n      \"grid\"", "\"node\": 7,\n      \"grid\"")},
     FINDS(IDENTITY_DIGEST, PLAN, "/nodes/7"),
     .also = "identity.coverage"},
    {"the buffer summary changed",
     {SUB(SOURCES, IR, "alloc#0[p32]: Cast -> BufferFree", "alloc#1[p16]: Cast -> BufferFree")},
     FINDS(IDENTITY_TEXT, IR, "")},
    {"the buffer summary longer",
     {SUB(SOURCES, IR, "0: pinned[y]\n", "0: pinned[y]\n\n")},
     FINDS(IDENTITY_TEXT, IR, "")},
    {"the typed ops changed",
     {SUB(SOURCES, TYPED, "\"trans_b\":false", "\"trans_b\":true")},
     FINDS(IDENTITY_TEXT, TYPED, "")},
    {"a kernel's label in the plan alone",
     {SUB(SOURCES, PLAN, "\"label\": \"Cast\"", "\"label\": \"Conv\"")},
     FINDS(IDENTITY_TEXT, TYPED, ""),
     .also = "identity.text"},
    {"a file the capture has no digest of",
     {PUT(CAPTURED, "evidence/note.txt", "later\n")},
     FINDS(IDENTITY_COVERAGE, "evidence/note.txt", "")},
    {"a captured file left out",
     {PUT(RECORDED, "evidence/note.txt", "early\n"), DROP(CAPTURED, "evidence/note.txt")},
     FINDS(IDENTITY_COVERAGE, "capture.json", "evidence/note.txt")},

    {"a write to a read-only buffer",
     {SUB(SOURCES, PLAN,
          "\"label\": \"y\",\n      \"owner\": \"caller\",\n      \"freed_by\": \"caller\",\n      "
          "\"access\": \"rw\"",
          "\"label\": \"y\",\n      \"owner\": \"caller\",\n      \"freed_by\": \"caller\",\n      "
          "\"access\": \"ro\""),
      SUB(SOURCES, IR, "pinned[y] caller rw", "pinned[y] caller ro")},
     FINDS(PLAN_INVALID, PLAN, "/nodes/6")},
    {"a buffer that is not there",
     {SUB(SOURCES, PLAN, "\"port\": \"a\",\n          \"buffer\": \"wt\"",
          "\"port\": \"a\",\n          \"buffer\": \"w\"")},
     FINDS(PLAN_UNKNOWN_BUFFER, PLAN, "/nodes/2/operands/0/buffer")},
    {"a cycle",
     {EDGE(DATA("4", "2", "p32", "p"))},
     FINDS(PLAN_CYCLE, PLAN, "/edges/0"),
     .also = "plan.order"},
    {"an order that the edges forbid",
     {EDGE(DATA("8", "7", "p16", "reuse"))},
     FINDS(PLAN_ORDER, PLAN, "/edges/0"),
     .also = "plan.order"},
    {"a read of what nothing wrote",
     {SUB(SOURCES, PLAN, "{\"value\": \"x\", \"buffer\": \"x\"},", "")},
     FINDS(PLAN_LIFETIME, PLAN, "/nodes/2"),
     .also = "plan.edge fixture.shape"},
    {"a reader not ordered after the writer",
     {SUB(SOURCES, PLAN, DATA("2", "4", "p32", "input") ",", "")},
     FINDS(PLAN_RACE, PLAN, "/nodes/4"),
     .also = "arena.reuse"},
    {"an edge of a buffer that its node does not touch",
     {EDGE(DATA("0", "6", "x", "p"))},
     FINDS(PLAN_EDGE, PLAN, "/edges/0")},

    {"an offset that is not the rebuilt one",
     {SUB(SOURCES, ARENA, P16_RANGE("4096"), P16_RANGE("4352"))},
     FINDS(ARENA_OFFSET, ARENA, "/ranges/3/offset_bytes")},
    {"a lifetime that is not the rebuilt one",
     {SUB(SOURCES, ARENA, "\"first_step\": 1, \"end_step\": 6", "\"first_step\": 0, \"end_step\": 6")},
     FINDS(ARENA_OFFSET, ARENA, "/ranges/1/first_step")},
    {"a range for nothing",
     {SUB(SOURCES, ARENA, "\"name\": \"p32\"", "\"name\": \"p64\"")},
     FINDS(ARENA_OFFSET, ARENA, "/ranges/1"),
     .also = "arena.offset"},
    {"two live ranges over each other",
     {SUB(SOURCES, ARENA, P16_RANGE("4096"), P16_RANGE("3840"))},
     FINDS(ARENA_OVERLAP, ARENA, "/ranges/3"),
     .also = "arena.offset"},
    {"the same as given",
     {GIVEN, SUB(SOURCES, ARENA, P16_RANGE("4096"), P16_RANGE("3840"))},
     FINDS(ARENA_OVERLAP, ARENA, "/ranges/3")},
    {"a range beyond the arena",
     {GIVEN, SUB(SOURCES, ARENA, "\"slab_bytes\": 33558528", "\"slab_bytes\": 33558272")},
     FINDS(ARENA_BOUNDS, ARENA, "/ranges/2")},
    {"a range too short",
     {GIVEN, SUB(SOURCES, ARENA, "\"bytes\": 1920", "\"bytes\": 1919")},
     FINDS(ARENA_BOUNDS, ARENA, "/ranges/3")},
    {"a range not aligned",
     {GIVEN, SUB(SOURCES, ARENA, P16_RANGE("4096"), P16_RANGE("4104"))},
     FINDS(ARENA_ALIGNMENT, ARENA, "/ranges/3")},
    {"another peak",
     {SUB(SOURCES, ARENA, "\"peak_live_bytes\": 33558528", "\"peak_live_bytes\": 33558272")},
     FINDS(ARENA_PEAK, ARENA, "/peak_live_bytes")},
    {"another slab",
     {SUB(SOURCES, ARENA, "\"slab_bytes\": 33558528", "\"slab_bytes\": 33558784")},
     FINDS(ARENA_PEAK, ARENA, "/slab_bytes")},
    {"a reuse that nothing orders",
     {GIVEN, SUB(SOURCES, PLAN, DATA("2", "4", "p32", "input") ",", "")},
     FINDS(ARENA_REUSE, ARENA, "/ranges/3"),
     .also = "plan.race"},

    {"a pitch below the row",
     {SUB(SOURCES, PLAN, "\"lda\": 56", "\"lda\": 55"), SUB(SOURCES, TYPED, "\"lda\":56", "\"lda\":55")},
     FINDS(RESOLVE_REFUSED, PLAN, "/nodes/2/spec")},
    {"a matrix beyond its buffer",
     {SUB(SOURCES, PLAN, "\"lda\": 56", "\"lda\": 57"), SUB(SOURCES, TYPED, "\"lda\":56", "\"lda\":57")},
     FINDS(RESOLVE_REACH, PLAN, "/nodes/2/spec")},
    {"a spec that its text does not have",
     {SUB(SOURCES, PLAN, "\"lda\": 56", "\"lda\": 57")},
     FINDS(RESOLVE_REACH, PLAN, "/nodes/2/spec"),
     .also = "identity.text"},
    {"a captured flag that is not the resolved one",
     {SUB(SOURCES, CALLS, "\"trans_a\": false", "\"trans_a\": true")},
     FINDS(RESOLVE_MISMATCH, CALLS, "/calls/0/trans_a")},
    {"a spec flag that was captured otherwise",
     {SUB(SOURCES, PLAN, "\"trans_b\": false", "\"trans_b\": true"),
      SUB(SOURCES, TYPED, "\"trans_b\":false", "\"trans_b\":true")},
     FINDS(RESOLVE_REACH, PLAN, "/nodes/2/spec")},
    {"a call of another node",
     {SUB(SOURCES, CALLS, "\"node\": 2", "\"node\": 4")},
     FINDS(RESOLVE_MISMATCH, CALLS, "/calls/0/node")},
    {"no calls",
     {PUT(SOURCES, CALLS, "{\"format\":\"replay-calls/0\",\"calls\":[]}")},
     FINDS(RESOLVE_MISMATCH, CALLS, "/calls")},

    {"a source that is not the recorded one",
     {SUB(RECORDED, CAST_CU, "960ULL", "961ULL")},
     FINDS(KERNEL_SOURCE, CAST_CU, "")},
    {"a source without record",
     {DROP(RECORDED, CAST_JSON)},
     FINDS(KERNEL_SOURCE, CAST_CU, ""),
     .also = "kernel.source"},
    {"a launch of no kernel",
     {SUB(SOURCES, PLAN, "kernels/000_cast.cu", "kernels/007_cast.cu"),
      SUB(SOURCES, TYPED, "kernels/000_cast.cu", "kernels/007_cast.cu")},
     FINDS(KERNEL_SOURCE, PLAN, "/nodes/4/source")},
    {"a PTX that is not the recorded one",
     {SUB(RECORDED, CAST_PTX, "959", "958")},
     FINDS(KERNEL_PTX, CAST_PTX, "")},
    {"a PTX that recompiling does not give", {{0}}, FINDS(KERNEL_PTX, CAST_PTX, ""), .option = OTHER_PTX},
    {"a parameter of four bytes",
     {SUB(SOURCES, CAST_PTX, ".param .u64 k_param_2", ".param .u32 k_param_2")},
     FINDS(KERNEL_ENTRY, CAST_PTX, "")},
    {"a parameter too few",
     {SUB(SOURCES, CAST_PTX, ",\n\t.param .u64 k_param_2", "")},
     FINDS(KERNEL_ENTRY, CAST_PTX, "")},
    {"a parameter too many",
     {SUB(SOURCES, ADD_PTX, ".param .u64 k_param_3", ".param .u64 k_param_3, .param .u64 k_param_4")},
     FINDS(KERNEL_ENTRY, ADD_PTX, "")},
    {"another entry", {SUB(SOURCES, CAST_PTX, ".entry k(", ".entry q(")}, FINDS(KERNEL_ENTRY, CAST_PTX, "")},
    {"another entry in the record",
     {SUB(RECORDED, CAST_JSON, "\"entry\": \"k\"", "\"entry\": \"q\"")},
     FINDS(KERNEL_ENTRY, CAST_JSON, "/entry")},

    {"another seed",
     {SUB(SOURCES, RANDOM, "\"seed\": 2", "\"seed\": 4")},
     FINDS(FIXTURE_RECIPE, RANDOM_DATA, "in.x"),
     .also = "fixture.recipe fixture.expected"},
    {"a recipe of another name",
     {SUB(SOURCES, RANDOM, "\"fixture\": \"random\"", "\"fixture\": \"radnom\"")},
     FINDS(FIXTURE_RECIPE, RANDOM, "/fixture")},
    {"data without recipe",
     {DROP(SOURCES, RANDOM)},
     FINDS(FIXTURE_RECIPE, RANDOM_DATA, ""),
     .also = "contract.invalid"},
    {"a reference that rounds elsewhere",
     {SUB(SOURCES, "reference.json", "\"transpose_b\": true, \"round\": \"f16\"",
          "\"transpose_b\": true, \"round\": \"f32\"")},
     FINDS(FIXTURE_EXPECTED, RANDOM_DATA, "out.y"),
     .also = "fixture.expected"},
    {"a fixture of another shape",
     {SUB(SOURCES, RANDOM_DATA, "[40,56]", "[56,40]")},
     FINDS(FIXTURE_SHAPE, RANDOM_DATA, "in.x")},
    {"a reference of another output",
     {SUB(SOURCES, "reference.json", "\"name\": \"y\"", "\"name\": \"z\"")},
     FINDS(FIXTURE_SHAPE, "reference.json", "z"),
     .also = "fixture.shape contract.invalid"},
    {"a recipe of another shape",
     {SUB(SOURCES, RANDOM, "\"shape\": [40, 56]", "\"shape\": [56, 40]")},
     FINDS(FIXTURE_SHAPE, RANDOM, NULL)},
    {"no safetensors", {PUT(SOURCES, RANDOM_DATA, "no")}, FINDS(FIXTURE_FORMAT, RANDOM_DATA, NULL)},
    {"a header laid out otherwise",
     {SUB(SOURCES, RANDOM_DATA, "[40,56]", "[40, 56]")},
     FINDS(FIXTURE_FORMAT, RANDOM_DATA, NULL)},

    {"counts that do not multiply",
     {SUB(SOURCES, "contract.json", "\"checks_total\": 35", "\"checks_total\": 36")},
     FINDS(CONTRACT_INVALID, "contract.json", "/checks_total")},
    {"checks of another number",
     {SUB(SOURCES, "contract.json", "\"checks_per_phase\": 7", "\"checks_per_phase\": 6")},
     FINDS(CONTRACT_INVALID, "contract.json", "/checks_per_phase")},
    {"a tolerance of no output",
     {SUB(SOURCES, "contract.json", "\"output\": \"y\"", "\"output\": \"z\"")},
     FINDS(CONTRACT_INVALID, "contract.json", "/tolerances")},
    {"an inner extent that was not measured",
     {SUB(SOURCES, "contract.json", "\"measured_k\": [56]", "\"measured_k\": [768]")},
     FINDS(CONTRACT_INVALID, "contract.json", "/accuracy/measured_k")},
    {"a fixture by another name",
     {SUB(SOURCES, "contract.json", "\"name\": \"random\"", "\"name\": \"radnom\"")},
     FINDS(CONTRACT_INVALID, "contract.json", "/fixtures")},
    {"a value that the reference does not have",
     {SUB(SOURCES, "reference.json", "\"b\": \"wt\"", "\"b\": \"wu\"")},
     FINDS(REFERENCE_INVALID, "reference.json", NULL)},
};
enum { N_CASES = sizeof cases / sizeof *cases };

/* Ids that no bundle at rest can make, and who tests them. */
static const struct {
    const char *area, *by;
} elsewhere[] = {
    {"container.dictionary", "tests/artifacts/test_store.c"},
    {"container.window", "tests/artifacts/test_store.c"},
    {"container.frame", "tests/artifacts/test_store.c"},
    {"trust.envelope", "tests/artifacts/test_dsse.c"},
    {"trust.payload_type", "tests/artifacts/test_dsse.c"},
    {"trust.signature", "tests/artifacts/test_dsse.c"},
    {"trust.statement", "tests/artifacts/test_statement.c"},
    {"trust.predicate", "tests/artifacts/test_statement.c"},
    {"trust.subject", "tests/artifacts/test_statement.c"},
    {"trust.verdict", "tests/artifacts/test_statement.c"},
    {"run.", "tests/verify/test_intercept.c, tests/gpu/test_result.c and tests/replay/"},
    {"evidence.", "tests/replay/"},
};

Test(reject, every_finding_has_a_case)
{
    for (int id = 0; id < FIND_COUNT; id++) {
        bool covered = false;
        for (size_t i = 0; i < N_CASES; i++)
            covered |= cases[i].id == (finding_id)id;
        for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
            covered |= !strncmp(finding_name((finding_id)id), elsewhere[i].area, strlen(elsewhere[i].area));
        cr_expect(covered, "no broken bundle for %s", finding_name((finding_id)id));
    }
}

/* --- Making and judging them. --- */

typedef struct {
    scratch *sc;
    const char *dir;
    t_tree sources; /* with fixture data */
} workshop;

static workshop start(void)
{
    workshop w = {.sc = scratch_new(0)};
    w.dir = t_dir(w.sc);
    t_sources(&w.sources, w.sc, "weight_view.small");
    t_add_fixtures(&w.sources);
    return w;
}

static void stop(workshop *w)
{
    t_remove(w->dir);
    scratch_free(w->sc);
}

static void apply(t_tree *t, span *manifest_text, const edit *edits, size_t n, stage when)
{
    for (size_t i = 0; i < n; i++) {
        const edit *d = &edits[i];
        if (!d->path || d->when != when)
            continue;
        if (!strcmp(d->path, MANIFEST_PATH))
            *manifest_text = t_replaced(t->sc, *manifest_text, d->from, d->to);
        else if (d->from)
            t_replace(t, d->path, d->from, d->to);
        else if (d->to)
            t_put(t, d->path, span_str(d->to));
        else
            t_drop(t, d->path);
    }
}

/* Strings of one case, over a tree that is the workshop's. */
static t_tree tree_in(const workshop *w, scratch *sc)
{
    t_tree t = w->sources;
    t.sc = sc;
    return t;
}

static span build(const workshop *w, scratch *sc, const edit *edits, size_t n, container c)
{
    t_tree t = tree_in(w, sc);
    span text = {0};
    apply(&t, &text, edits, n, SOURCES);
    t_add_records(&t);
    apply(&t, &text, edits, n, RECORDED);
    t_add_capture(&t);
    apply(&t, &text, edits, n, CAPTURED);
    t_manifest(sc, t.name, t.v, t.n, &text);
    apply(&t, &text, edits, n, LISTED);
    span stream = t_stream(sc, text, t.v, t.n);
    return c ? c(sc, stream) : t_frames(sc, stream, 1 << 22);
}

/* Its findings, those of an archive that does not open included. */
static report *judge(const workshop *w, scratch *sc, span archive, const verify_options *opt,
                     verify_result *out)
{
    rp_err e = {0};
    report *r = report_new(sc);
    store *st = NULL;
    *out = (verify_result){0};
    const char *path = t_write(sc, w->dir, "case.tar.zst", archive);
    if (store_open(&e, &st, path)) {
        cr_assert(err_to_finding(&e, &r->fs), "%s", e.msg);
        return r;
    }
    cr_assert_eq(verify_bundle(&e, out, r, st, opt), RP_OK, "%s: %s: %s", e.file, e.where, e.msg);
    store_free(st);
    out->bundle = NULL;
    return r;
}

static const char compiled_ptx[] = "// other PTX\n";

/* The recorded compiler and headers, and other PTX for the first kernel. */
static rp_code compile(rp_err *e, compiled *out, scratch *sc, void *ctx, bool trusted, const char *name,
                       span source, const char *const *options, uint64_t n_options)
{
    const t_tree *t = ctx;
    (void)e;
    (void)trusted;
    (void)source;
    cr_expect(n_options == 1 && !strcmp(options[0], "-I$CUDA_INCLUDE"));
    out->ok = true;
    out->compiler = "NVRTC";
    out->version = "13.0.88";
    out->build = "CL-36424714";
    out->log = out->sandbox = "";
    out->n_headers = 1;
    out->headers = scratch_alloc(sc, sizeof *out->headers);
    out->headers[0] = (kernel_header){.name = "cuda_fp16.h", .sha256 = digest_of(span_str("a stand-in"))};
    out->ptx = !strcmp(name, CAST_CU) ? span_str(compiled_ptx) : t_bytes(t, ADD_PTX);
    return RP_OK;
}

static verify_options options_of(workshop *w, scratch *sc, option o)
{
    verify_options opt = {0};
    if (o == OTHER_ROOT)
        opt.root = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    if (o == OTHER_PTX) {
        opt.compile = compile;
        opt.compile_ctx = &w->sources;
    }
    if (o == OTHER_CAPTURE) {
        t_tree t = tree_in(w, sc);
        t_add_records(&t);
        t_replace(&t, "contract.json", "\"atol\": 0.0002", "\"atol\": 0.0001");
        t_add_capture(&t);
        opt.capture_path = t_write(sc, w->dir, "outside.json", t_bytes(&t, "capture.json"));
    }
    return opt;
}

static bool named_in(const char *list, const char *id)
{
    size_t n = strlen(id);
    for (const char *p = list; p && (p = strstr(p, id)); p += n)
        if ((p == list || p[-1] == ' ') && (!p[n] || p[n] == ' '))
            return true;
    return false;
}

static bool is_the_one(const reject_case *c, const finding *f)
{
    return f->id == c->id && (!c->file || !strcmp(f->file, c->file)) &&
           (!c->where || !strcmp(f->where, c->where));
}

static void run_case(workshop *w, const reject_case *c)
{
    scratch *sc = scratch_new(0);
    verify_options opt = options_of(w, sc, c->option);
    verify_result result;
    span archive = build(w, sc, c->edits, sizeof c->edits / sizeof *c->edits, c->container);
    report *r = judge(w, sc, archive, &opt, &result);
    bool found = false;
    for (size_t i = 0; i < r->fs.n; i++) {
        const finding *f = &r->fs.v[i];
        bool one = is_the_one(c, f);
        found |= one;
        cr_expect(one || named_in(c->also, finding_name(f->id)), "%s: also %s %s %s: %s", c->what,
                  finding_name(f->id), f->file, f->where, f->message);
        cr_expect(*f->message && !strchr(f->message, '\n'), "%s: the message is no line", c->what);
    }
    cr_expect(found, "%s: expected %s %s %s, found %s", c->what, finding_name(c->id), c->file ? c->file : "*",
              c->where ? c->where : "*", t_list(sc, &r->fs));
    for (int id = 0; c->also && id < FIND_COUNT; id++)
        if (named_in(c->also, finding_name((finding_id)id))) {
            bool there = false;
            for (size_t i = 0; i < r->fs.n; i++)
                there |= r->fs.v[i].id == (finding_id)id && !is_the_one(c, &r->fs.v[i]);
            cr_expect(there, "%s: no %s besides", c->what, finding_name((finding_id)id));
        }
    if (r->n)
        cr_expect_eq(report_verdict(r), CHECK_REJECTED, "%s", c->what);
    scratch_free(sc);
}

/* In parts, which Criterion runs side by side. */
static void run_part(size_t part, size_t parts)
{
    workshop w = start();
    for (size_t i = part; i < N_CASES; i += parts)
        run_case(&w, &cases[i]);
    stop(&w);
}

Test(reject, broken_bundles_1)
{
    run_part(0, 3);
}

Test(reject, broken_bundles_2)
{
    run_part(1, 3);
}

Test(reject, broken_bundles_3)
{
    run_part(2, 3);
}

Test(reject, the_whole_one_is_accepted)
{
    workshop w = start();
    verify_result result;
    span archive = build(&w, w.sc, NULL, 0, NULL);
    report *r = judge(&w, w.sc, archive, &(verify_options){0}, &result);
    cr_expect_eq(r->fs.n, 0, "%s", t_list(w.sc, &r->fs));
    cr_expect_eq(report_verdict(r), CHECK_PASSED);
    cr_expect(result.has_signature && result.trust == TRUST_SELF_CONSISTENT);
    for (size_t i = 0; i < r->n; i++)
        cr_expect_eq(r->v[i].status,
                     !strcmp(r->v[i].name, "kernels.recompiled") ? CHECK_NOT_CHECKABLE : CHECK_PASSED, "%s",
                     r->v[i].name);
    /* As one frame, as plain zstd would write it, and as a folder. */
    rp_err e = {0};
    t_tree t;
    t_small(&t, w.sc);
    span text;
    t_manifest(w.sc, t.name, t.v, t.n, &text);
    t_put(&t, MANIFEST_PATH, text);
    const char *dir = scratch_printf(w.sc, "%s/folder", w.dir);
    t_write_tree(w.sc, dir, t.v, t.n);
    store *st;
    cr_assert_eq(store_open_folder(&e, &st, dir), RP_OK, "%s", e.msg);
    report *folder = report_new(w.sc);
    verify_result again;
    cr_assert_eq(verify_bundle(&e, &again, folder, st, &(verify_options){0}), RP_OK, "%s", e.msg);
    cr_expect_eq(folder->fs.n, 0, "%s", t_list(w.sc, &folder->fs));
    cr_expect(digest_equal(again.signature, result.signature));
    store_free(st);
    stop(&w);
}

/* With the capture's own record and the compiler's, as they are shipped. */
Test(reject, the_shipped_ones_are_accepted)
{
    static const char *const names[] = {"weight_view.small", "weight_view"};
    workshop w = start();
    for (int i = 0; i < 2; i++) {
        rp_err e = {0};
        const char *const *paths;
        size_t n = 0;
        verify_result result;
        span text;
        t_tree t = {.sc = w.sc, .name = names[i]};
        const char *dir = scratch_printf(w.sc, "artifacts/workloads/%s", names[i]);
        cr_assert_eq(file_tree(&e, &paths, &n, w.sc, dir), RP_OK, "%s", e.msg);
        for (size_t k = 0; k < n; k++)
            if (manifest_role_of(paths[k]) != ROLE_COUNT)
                t_put(&t, paths[k], t_slurp(w.sc, file_join(w.sc, dir, paths[k])));
        cr_assert(t_has_file(&t, "capture.json") && t_has_file(&t, CAST_JSON));
        if (!i)
            t_add_fixtures(&t);
        t_manifest(w.sc, names[i], t.v, t.n, &text);
        report *r = judge(&w, w.sc, t_frames(w.sc, t_stream(w.sc, text, t.v, t.n), 1 << 22),
                          &(verify_options){.quick = i}, &result);
        cr_expect_eq(r->fs.n, 0, "%s: %s", names[i], t_list(w.sc, &r->fs));
        cr_expect_neq(report_verdict(r), CHECK_REJECTED);
    }
    stop(&w);
}

/* What the whole one is worth, by what comes from outside. */
Test(reject, trust)
{
    workshop w = start();
    verify_result result;
    t_tree t;
    span text;
    char hex[DIGEST_HEX];
    t_small(&t, w.sc);
    digest_hex(t_manifest(w.sc, t.name, t.v, t.n, &text)->root, hex);
    span archive = build(&w, w.sc, NULL, 0, NULL);

    verify_options opt = {.root = scratch_printf(w.sc, "sha256:%s", hex), .quick = true};
    report *r = judge(&w, w.sc, archive, &opt, &result);
    cr_expect(r->fs.n == 0 && result.trust == TRUST_PINNED, "%s", t_list(w.sc, &r->fs));

    opt = (verify_options){.capture_path = t_write(w.sc, w.dir, "outside.json", t_bytes(&t, "capture.json")),
                           .quick = true};
    r = judge(&w, w.sc, archive, &opt, &result);
    cr_expect(r->fs.n == 0 && result.trust == TRUST_PINNED && result.matched == result.of && result.of > 15,
              "%s", t_list(w.sc, &r->fs));

    /* A record from outside that covers all but one file. */
    t_drop(&t, TYPED);
    t_add_capture(&t);
    opt.capture_path = t_write(w.sc, w.dir, "outside.json", t_bytes(&t, "capture.json"));
    r = judge(&w, w.sc, archive, &opt, &result);
    cr_expect(r->fs.n == 0 && result.trust == TRUST_CAPTURE_MATCHED && result.matched + 1 == result.of, "%s",
              t_list(w.sc, &r->fs));
    stop(&w);
}

/* Someone who changes a kernel and recomputes everything else has a bundle that agrees with itself. Only what
 * comes from outside tells. */
Test(reject, a_consistent_forgery)
{
    static const edit forged[] = {SUB(SOURCES, CAST_CU, "960ULL", "961ULL"),
                                  SUB(SOURCES, CAST_PTX, "959", "960")};
    workshop w = start();
    verify_result result;
    t_tree t;
    span text;
    char hex[DIGEST_HEX];
    t_small(&t, w.sc);
    digest_hex(t_manifest(w.sc, t.name, t.v, t.n, &text)->root, hex);
    span archive = build(&w, w.sc, forged, 2, NULL);
    verify_options opt = {.quick = true};
    report *r = judge(&w, w.sc, archive, &opt, &result);
    cr_expect(r->fs.n == 0 && result.trust == TRUST_SELF_CONSISTENT, "%s", t_list(w.sc, &r->fs));
    opt.root = scratch_printf(w.sc, "sha256:%s", hex);
    r = judge(&w, w.sc, archive, &opt, &result);
    cr_expect(r->fs.n == 1 && t_found(&r->fs, FIND_TRUST_ROOT, "manifest.json", NULL), "%s",
              t_list(w.sc, &r->fs));
    opt = (verify_options){.quick = true,
                           .capture_path = t_write(w.sc, w.dir, "outside.json", t_bytes(&t, "capture.json"))};
    r = judge(&w, w.sc, archive, &opt, &result);
    cr_expect(t_found(&r->fs, FIND_TRUST_CAPTURE, CAST_CU, "") &&
                  t_found(&r->fs, FIND_TRUST_CAPTURE, CAST_PTX, ""),
              "%s", t_list(w.sc, &r->fs));
    cr_expect_neq(result.trust, TRUST_PINNED);
    stop(&w);
}

/* One byte of each file, whatever it is. */
Test(reject, a_flipped_byte_in_each_file)
{
    workshop w = start();
    t_tree whole;
    span text;
    t_small(&whole, w.sc);
    t_manifest(w.sc, whole.name, whole.v, whole.n, &text);
    for (size_t i = 0; i < whole.n; i++)
        for (int end = 0; end < 2; end++) {
            scratch *sc = scratch_new(0);
            t_tree t = whole;
            verify_result result;
            t.v[i].bytes = t_flip(sc, t.v[i].bytes, end ? t.v[i].bytes.n - 1 : 0, 1);
            report *r = judge(&w, sc, t_frames(sc, t_stream(sc, text, t.v, t.n), 1 << 22),
                              &(verify_options){.quick = true}, &result);
            cr_expect(t_found(&r->fs, FIND_FILE_DIGEST, t.v[i].path, ""), "%s: %s", t.v[i].path,
                      t_list(sc, &r->fs));
            for (size_t k = 0; k < r->fs.n; k++) {
                const finding *f = &r->fs.v[k];
                cr_expect(f->id == FIND_FILE_DIGEST && !strcmp(f->file, t.v[i].path), "%s: also %s %s: %s",
                          t.v[i].path, finding_name(f->id), f->file, f->message);
            }
            scratch_free(sc);
        }
    stop(&w);
}

/* And of the manifest, whose digest is the root. */
Test(reject, a_flipped_byte_in_the_manifest)
{
    workshop w = start();
    t_tree t;
    span text;
    char hex[DIGEST_HEX];
    t_small(&t, w.sc);
    digest_hex(t_manifest(w.sc, t.name, t.v, t.n, &text)->root, hex);
    const verify_options opt = {.root = scratch_printf(w.sc, "sha256:%s", hex), .quick = true};
    for (size_t at = 0; at < text.n; at += 23) {
        scratch *sc = scratch_new(0);
        verify_result result;
        report *r = judge(&w, sc, t_frames(sc, t_stream(sc, t_flip(sc, text, at, 1), t.v, t.n), 1 << 22),
                          &opt, &result);
        bool refused = r->n == 0 && r->fs.n == 1 && !strcmp(r->fs.v[0].file, MANIFEST_PATH);
        cr_expect(refused || t_found(&r->fs, FIND_TRUST_ROOT, MANIFEST_PATH, ""), "byte %zu: %s", at,
                  t_list(sc, &r->fs));
        scratch_free(sc);
    }
    stop(&w);
}

static span flip_tensor(scratch *sc, span file, const char *name)
{
    rp_err e = {0};
    st_tensor *v;
    size_t n = 0;
    cr_assert_eq(st_read(&e, &v, &n, sc, "f", file), RP_OK, "%s", e.msg);
    for (size_t i = 0; i < n; i++)
        if (!strcmp(v[i].name, name))
            return t_flip(sc, file, (size_t)(v[i].data.p - file.p) + v[i].data.n - 1, 1);
    cr_assert(false, "no tensor %s", name);
    return file;
}

/* One bit of one tensor, in a bundle that agrees with itself; --quick, which says so, does not see it. */
Test(reject, one_bit_of_a_tensor)
{
    static const struct {
        const char *name;
        finding_id id;
    } tensors[] = {{"in.x", FIND_FIXTURE_RECIPE},
                   {"in.wt", FIND_FIXTURE_RECIPE},
                   {"in.bias", FIND_FIXTURE_RECIPE},
                   {"out.y", FIND_FIXTURE_EXPECTED}};
    workshop w = start();
    for (size_t i = 0; i < 4; i++)
        for (int quick = 0; quick < 2; quick++) {
            scratch *sc = scratch_new(0);
            verify_result result;
            workshop changed = w;
            changed.sources.sc = sc;
            t_put(&changed.sources, RANDOM_DATA,
                  flip_tensor(sc, t_bytes(&w.sources, RANDOM_DATA), tensors[i].name));
            report *r =
                judge(&w, sc, build(&changed, sc, NULL, 0, NULL), &(verify_options){.quick = quick}, &result);
            if (quick)
                cr_expect_eq(r->fs.n, 0);
            else
                cr_expect(r->fs.n == 1 && t_found(&r->fs, tensors[i].id, RANDOM_DATA, tensors[i].name),
                          "%s: %s", tensors[i].name, t_list(sc, &r->fs));
            scratch_free(sc);
        }
    stop(&w);
}

/* Why a source is not tied to its PTX, where recompiling was tried. */
typedef struct {
    compiled c;
    rp_code code;
    const t_tree *t;
} answer;

static rp_code answer_with(rp_err *e, compiled *out, scratch *sc, void *ctx, bool trusted, const char *name,
                           span source, const char *const *options, uint64_t n_options)
{
    const answer *a = ctx;
    (void)sc;
    (void)trusted;
    (void)source;
    (void)options;
    (void)n_options;
    *out = a->c;
    if (a->t)
        out->ptx = t_bytes(a->t, !strcmp(name, CAST_CU) ? CAST_PTX : ADD_PTX);
    return a->code ? err_set(e, a->code, "no such luck") : RP_OK;
}

Test(reject, recompiling)
{
    workshop w = start();
    kernel_header header = {.name = "cuda_fp16.h", .sha256 = digest_of(span_str("a stand-in"))},
                  other = header;
    other.sha256.b[0] ^= 1;
    const compiled same = {.ok = true,
                           .compiler = "NVRTC",
                           .version = "13.0.88",
                           .build = "CL-36424714",
                           .log = "",
                           .sandbox = "",
                           .n_headers = 1,
                           .headers = &header};
    compiled newer = same, headers = same, more = same, broken = same;
    newer.version = "13.1.0";
    headers.headers = &other;
    more.n_headers = 0;
    broken.ok = false;
    broken.log = "error: no";
    const struct {
        answer a;
        check_status status;
        const char *says;
    } answers[] = {
        {{same, RP_OK, &w.sources}, CHECK_PASSED, "2 sources recompiled"},
        {{newer, RP_OK, &w.sources}, CHECK_NOT_CHECKABLE, "the compiler here is NVRTC 13.1.0"},
        {{headers, RP_OK, &w.sources}, CHECK_NOT_CHECKABLE, "the headers here"},
        {{more, RP_OK, &w.sources}, CHECK_NOT_CHECKABLE, "the headers here"},
        {{same, RP_UNAVAILABLE, &w.sources}, CHECK_NOT_CHECKABLE, "no such luck"},
        {{same, RP_WORKER, &w.sources}, CHECK_NOT_CHECKABLE, "no such luck"},
        {{broken, RP_OK, &w.sources}, CHECK_REJECTED, NULL},
    };
    span archive = build(&w, w.sc, NULL, 0, NULL);
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        answer a = answers[i].a;
        verify_result result;
        report *r = NULL;
        /* --quick leaves recompiling out; the fixtures are few. */
        r = judge(&w, w.sc, archive, &(verify_options){.compile = answer_with, .compile_ctx = &a}, &result);
        const check *c = NULL;
        for (size_t k = 0; k < r->n; k++)
            if (!strcmp(r->v[k].name, "kernels.recompiled"))
                c = &r->v[k];
        cr_assert(c != NULL);
        cr_expect_eq(c->status, answers[i].status, "answer %zu: %s", i, c->text);
        cr_expect(!c->required && (!answers[i].says || strstr(c->text, answers[i].says)), "answer %zu: %s", i,
                  c->text);
        cr_expect_eq(r->fs.n == 0, answers[i].status != CHECK_REJECTED, "%s", t_list(w.sc, &r->fs));
    }
    stop(&w);
}
