/* Broken bundles of the small workload: what is changed, and the finding that it makes. */
#ifndef TESTS_VERIFY_REJECT_H
#define TESTS_VERIFY_REJECT_H

#include "tests/support.h"

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
#define TYPED "plan/typed_ops.json"
#define CAST_CU "kernels/000_cast.cu"
#define CAST_PTX "kernels/000_cast.ptx"
#define CAST_JSON "kernels/000_cast.json"
#define ADD_PTX "kernels/001_add.ptx"
#define RANDOM "fixtures/random.json"
#define RANDOM_DATA "fixtures/random.safetensors"

extern const reject_case reject_cases[];
extern const size_t n_reject_cases;

#endif
