/* What the manifest lists as omitted: that the bundle refers to it, and that it is nothing a bundle is about.
 * What each omission costs is said by the checks that need it. */
#include "verify/verify.h"

static bool kernel_refers(const bundle *b, const char *path)
{
    for (uint64_t i = 0; b->plan && i < b->plan->n_nodes; i++) {
        const plan_node *n = &b->plan->nodes[i];
        size_t stem = n->op == NODE_KERNEL && strlen(n->source) > 3 ? strlen(n->source) - 3 : 0;
        if (stem && (!strcmp(path, n->source) ||
                     (!strncmp(path, n->source, stem) && path[stem] == '.' && !strchr(path + stem + 1, '.'))))
            return true;
    }
    for (uint64_t i = 0; i < b->n_kernels; i++) {
        const kernel_record *k = b->kernels[i].record;
        if (k && (!strcmp(path, k->source) || !strcmp(path, k->ptx)))
            return true;
    }
    return !b->plan;
}

/* Without a contract nobody can say which fixtures there are. */
static bool contract_refers(const bundle *b, const char *path)
{
    for (size_t i = 0; b->contract && i < b->contract->n_fixtures; i++) {
        const char *own = scratch_printf(b->sc, "fixtures/%s.json", b->contract->fixtures[i].name);
        if (own && !strcmp(own, path))
            return true;
    }
    return !b->contract;
}

static bool recipe_refers(const bundle *b, const char *path)
{
    const char *own = scratch_printf(b->sc, "%.*s.json", (int)(strlen(path) - strlen(".safetensors")), path);
    return own && (manifest_find(b->man, own) || manifest_find_omitted(b->man, own));
}

static bool referred_to(const bundle *b, const char *path)
{
    if (b->capture && capture_find(b->capture, path))
        return true;
    switch (manifest_role_of(path)) {
    case ROLE_SOURCE:
    case ROLE_PTX:
    case ROLE_KERNEL:
        return kernel_refers(b, path);
    case ROLE_RECIPE:
        return contract_refers(b, path);
    case ROLE_FIXTURE:
        return recipe_refers(b, path);
    case ROLE_COUNT:
        return false;
    default:
        return true; /* every bundle has these, and evidence is what the original happened to retain */
    }
}

void verify_omissions(report *r, const bundle *b)
{
    if (!b->man->n_omitted)
        return;
    report_begin(r, "omissions", true);
    for (size_t i = 0; i < b->man->n_omitted; i++) {
        const char *path = b->man->omitted[i].path;
        file_role role = manifest_role_of(path);
        if (role == ROLE_CAPTURE || role == ROLE_PLAN)
            findings_add(&r->fs, FIND_MANIFEST_OMITTED, path, NULL, NULL, NULL,
                         "expected %s in the bundle, which is about it, found it omitted", path);
        else if (!referred_to(b, path))
            findings_add(&r->fs, FIND_MANIFEST_OMITTED, path, NULL, NULL, NULL,
                         "expected an omitted file that the capture, the plan, a record or the contract "
                         "names, found %s, which nothing refers to",
                         path);
    }
    report_end(r, "%zu omitted files: each is named by what is here; checks that need one are not checkable",
               b->man->n_omitted);
}
