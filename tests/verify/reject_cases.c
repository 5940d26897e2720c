#include "artifacts/tar.h"
#include "tests/verify/reject.h"
#include <criterion/criterion.h>

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
#define ARENA "plan/arena.json"
#define CALLS "plan/resolved_calls.json"
#define IR "plan/buffer_ir.txt"
#define GIVEN SUB(SOURCES, PLAN, "luminal-slab/2", "given")
#define EDGE(edge) SUB(SOURCES, PLAN, "\"edges\": [", "\"edges\": [" edge ",")
#define DATA(from, to, buffer, port)                                                                         \
    "{\"from\": " from ", \"to\": " to ", \"buffer\": \"" buffer "\", \"port\": \"" port                     \
    "\", \"kind\": \"data\"}"
#define P16_RANGE(offset)                                                                                    \
    "{\"name\": \"p16\", \"first_step\": 3, \"end_step\": 8, \"offset_bytes\": " offset ", \"bytes\": 1920}"

#define OMIT(entry) SUB(LISTED, "manifest.json", "\"omitted\": []", "\"omitted\": [" entry "]")
#define SHA_OF_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

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

const reject_case reject_cases[] = {
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
    {"a file both there and omitted",
     {OMIT("{\"path\": \"contract.json\", \"reason\": \"r\"}")},
     FINDS(MANIFEST_INVALID, "manifest.json", "/omitted/0")},
    {"an omitted path out of the tree",
     {OMIT("{\"path\": \"kernels/../x\", \"reason\": \"r\"}")},
     FINDS(MANIFEST_PATH, "manifest.json", "/omitted/0")},
    {"an omitted kernel that the plan does not launch",
     {OMIT("{\"path\": \"kernels/000_ghost.cu\", \"reason\": \"r\"}")},
     FINDS(MANIFEST_OMITTED, "kernels/000_ghost.cu", "")},
    {"omitted PTX of no kernel",
     {OMIT("{\"path\": \"kernels/000_cast.old.ptx\", \"reason\": \"r\"}")},
     FINDS(MANIFEST_OMITTED, "kernels/000_cast.old.ptx", "")},
    {"an omitted fixture that the contract does not have",
     {OMIT("{\"path\": \"fixtures/ghost.json\", \"reason\": \"r\"}")},
     FINDS(MANIFEST_OMITTED, "fixtures/ghost.json", "")},
    {"omitted data without a recipe",
     {OMIT("{\"path\": \"fixtures/ghost.safetensors\", \"reason\": \"r\"}")},
     FINDS(MANIFEST_OMITTED, "fixtures/ghost.safetensors", "")},
    {"an omitted file at a place that no bundle has",
     {OMIT("{\"path\": \"notes/readme\", \"reason\": \"r\"}")},
     FINDS(MANIFEST_OMITTED, "notes/readme", "")},
    {"an omitted plan",
     {DROP(CAPTURED, PLAN), OMIT("{\"path\": \"plan/plan.json\", \"reason\": \"r\"}")},
     FINDS(MANIFEST_OMITTED, PLAN, "")},
    {"an omitted capture",
     {DROP(CAPTURED, "capture.json"), OMIT("{\"path\": \"capture.json\", \"reason\": \"r\"}")},
     FINDS(MANIFEST_OMITTED, "capture.json", "")},
    {"an omitted text with another digest than the captured",
     {DROP(CAPTURED, IR),
      OMIT("{\"path\": \"plan/buffer_ir.txt\", \"sha256\": \"" SHA_OF_NOTHING "\", \"reason\": \"r\"}")},
     FINDS(IDENTITY_DIGEST, IR, "")},
    {"an omitted source with another digest than its record's",
     {DROP(RECORDED, CAST_CU),
      OMIT("{\"path\": \"" CAST_CU "\", \"sha256\": \"" SHA_OF_NOTHING "\", \"reason\": \"r\"}")},
     FINDS(KERNEL_SOURCE, CAST_CU, "")},
    {"omitted fixture data with another digest than its recipe gives",
     {DROP(CAPTURED, RANDOM_DATA),
      OMIT("{\"path\": \"" RANDOM_DATA "\", \"sha256\": \"" SHA_OF_NOTHING "\", \"reason\": \"r\"}")},
     FINDS(FIXTURE_EXPECTED, RANDOM_DATA, "")},

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
     {SUB(RECORDED, CAST_JSON, "replay-kernel/1", "replay-kernel/2")},
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
     {PUT(SOURCES, CALLS, "{\"format\":\"replay-calls/1\",\"calls\":[]}")},
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
const size_t n_reject_cases = sizeof reject_cases / sizeof *reject_cases;
