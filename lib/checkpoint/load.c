/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - continue a training from a file.
 *
 * What is refused, in this order:
 *
 *   - a call at the wrong time: during a capture, or while a step is under way
 *     (checkpoint_call() in call.c; a trainer's in lib/train/save_load.c)
 *   - a file that is not a valid safetensors file (safetensors.c, header.c)
 *   - an index of several files (load_all())
 *   - a file of another program or another version, or a header that differs
 *     from its digest (compare_version())
 *   - parameters with another name, dtype, state, shape or policy, or missing
 *     ones (compare_params()); another optimizer, or another stage of its step
 *     or the scaler's (compare_optimizer(), load_compare_all())
 *   - a tensor that differs from its digest (compare_digests())
 *   - states of the optimizer that are missing or unknown (make_optimizer())
 *   - words of the parameters or of a trainer that are not valid
 *     (load_read_words())
 *   - a scaler's state that is not valid (load_scaler())
 *
 * The file is first compared with the program's objects, and then with its
 * digests. A damaged file therefore cannot cause allocations of wrong sizes.
 * Then missing parameters and the optimizer's state are created. They are
 * removed if anything differs. Values are written last. */
#include <sesqui/ops/data.h>

#include "lib/amp/optimizer/optimizer.h"
#include "lib/checkpoint/checkpoint.h"
#include "lib/checkpoint/digest.h"
#include "lib/checkpoint/disk.h"
#include "lib/checkpoint/values.h"
#include "lib/core/device/choices.h"
#include "lib/core/queue/queue.h"
#include "lib/tape/params.h"

#include <stdio.h>
#include <string.h>

struct load_loading {
    struct checkpoint *c;
    ssq_safetensors *f;
    const struct safetensors_entry **param; /* by number; owned */
    bool *state, *full;                     /* by number; owned */
    size_t n;                               /* parameters in the file */
    uint32_t words[PARAMS_WORDS];
    struct crc64 crc;
    bool *seen; /* entries that match a state of the optimizer; owned */
    /* before the load */
    size_t had_params, had_given;
    bool had_state;
};

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static ssq_status load_differs(const struct load_loading *l, const char *thing,
                               const char *theirs, const char *ours)
{
    return error_set(SSQ_ERR_INVALID,
                     "%s: %.300s: %s is %.100s in the file, and %.100s here",
                     l->c->what, l->f->path, thing, theirs, ours);
}

/* ---- parameters ---- */

static ssq_status no_param(const struct load_loading *l, const char *name,
                           const char *text)
{
    return error_set(SSQ_ERR_INVALID,
                     "%s: %.300s: \"" PARAM_KEY "%.100s\" of %zu parameters is "
                     "\"%.40s\"",
                     l->c->what, l->f->path, name, l->n, text);
}

/* If *text begins with word, move it past the word and return true. */
static bool taken(const char **text, const char *word)
{
    bool there = begins(*text, word);
    *text += there ? strlen(word) : 0;
    return there;
}

/* Read a parameter's number from the metadata, and whether it is a state, and
 * whether it is full. */
static ssq_status place_param(struct load_loading *l,
                              const struct safetensors_entry *e)
{
    char key[sizeof(PARAM_KEY) + SSQ_PARAM_NAME];
    size_t number = 0, digits = 0;
    if (strlen(e->name) >= SSQ_PARAM_NAME)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s: the name \"%.40s..\" has %zu bytes, "
                         "expected less than %d",
                         l->c->what, l->f->path, e->name, strlen(e->name),
                         SSQ_PARAM_NAME);
    snprintf(key, sizeof(key), PARAM_KEY "%s", e->name);
    const char *text = ssq_safetensors_metadata(l->f, key);
    if (text == NULL)
        return no_param(l, e->name, "not there");
    for (; text[digits] >= '0' && text[digits] <= '9' && digits < 9; digits++)
        number = number * 10 + (size_t)(text[digits] - '0');
    const char *end = text + digits;
    const bool state = taken(&end, PARAM_STATE), full = taken(&end, PARAM_FULL);
    if (digits == 0 || number >= l->n || l->param[number] != NULL ||
        *end != '\0')
        return no_param(l, e->name, text);
    l->param[number] = e;
    l->state[number] = state;
    l->full[number] = full;
    return SSQ_OK;
}

static ssq_status list_params(struct load_loading *l)
{
    const ssq_safetensors *f = l->f;
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < f->n; i++)
        l->n += !begins(f->entry[i].name, OWN);
    l->param = mem_alloc_array(l->n, sizeof(const struct safetensors_entry *));
    l->state = mem_alloc_array(l->n, sizeof(bool));
    l->full = mem_alloc_array(l->n, sizeof(bool));
    if (l->param == NULL || l->state == NULL || l->full == NULL)
        return error_nomem(l->c->what,
                           l->n * sizeof(const struct safetensors_entry *));
    for (size_t i = 0; i < f->n && st == SSQ_OK; i++)
        if (!begins(f->entry[i].name, OWN))
            st = place_param(l, &f->entry[i]);
    return st;
}

static ssq_status compare_param(const struct load_loading *l, size_t i)
{
    const struct param *p = &l->c->params->at[i];
    const struct safetensors_entry *e = l->param[i];
    struct view place;
    char thing[SSQ_PARAM_NAME + 40];
    snprintf(thing, sizeof(thing), "parameter %zu", i);
    if (strcmp(p->name, e->name) != 0)
        return load_differs(l, thing, e->name, p->name);
    snprintf(thing, sizeof(thing), "\"%s\"", p->name);
    if (e->spelling.dtype != p->tensor->view.dtype)
        return load_differs(l, thing, e->spelling.text,
                            spelling_of_dtype(p->tensor->view.dtype)->text);
    if (l->state[i] != p->state)
        return load_differs(l, thing, l->state[i] ? "a state" : "no state",
                            p->state ? "a state" : "no state");
    return values_fit(l->f, e, NULL, p->tensor, &place);
}

/* Create a parameter with zeros. They are needed because masters are
 * initialised from parameters before values are read. */
static ssq_status make_param(const struct load_loading *l, size_t i)
{
    ssq_params *p = l->c->params;
    const struct safetensors_entry *e = l->param[i];
    ssq_tensor *t = NULL;
    ssq_dtype dtype = e->spelling.dtype;
    if (dtype != SSQ_F32 && dtype != p->policy.compute)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s: \"%.100s\" is %s in the file, and %s is "
                         "the policy",
                         l->c->what, l->f->path, e->name, e->spelling.text,
                         p->policy_name);
    ssq_status st = tensor_create(p->device, dtype, e->rank, e->shape, &t);
    if (st == SSQ_OK)
        st = ssq_fill(l->c->queue, SSQ_FILL(.x = t, .value = 0));
    if (st == SSQ_OK)
        st = param_put(p, e->name, t, l->state[i], l->full[i]);
    if (st != SSQ_OK)
        ssq_tensor_destroy(&t);
    return st;
}

static ssq_status compare_params(struct load_loading *l)
{
    ssq_params *p = l->c->params;
    char theirs[24], ours[24];
    const char *policy = ssq_safetensors_metadata(l->f, "sesqui.policy");
    if (policy == NULL || entry_find(l->f, OWN_PARAMS) == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s is a checkpoint without parameters",
                         l->c->what, l->f->path);
    if (strcmp(policy, p->policy_name) != 0)
        return load_differs(l, "the policy", policy, p->policy_name);
    ssq_status st = list_params(l);
    for (size_t i = 0; i < p->n && i < l->n && st == SSQ_OK; i++)
        st = compare_param(l, i);
    if (st == SSQ_OK && p->n > 0 && p->n != l->n) {
        snprintf(theirs, sizeof(theirs), "%zu", l->n);
        snprintf(ours, sizeof(ours), "%zu", p->n);
        st = load_differs(l, "the number of parameters", theirs, ours);
    }
    return st;
}

static ssq_status make_params(const struct load_loading *l)
{
    ssq_status st = SSQ_OK;
    for (size_t i = l->c->params->n; i < l->n && st == SSQ_OK; i++)
        st = make_param(l, i);
    return st;
}

/* ---- the optimizer ---- */

/* Check the step count t. ssq_optimizer_visit would check it too, but only
 * after values have been written. */
static ssq_status compare_control(const struct load_loading *l,
                                  const struct safetensors_entry *e)
{
    unsigned char t[4] = {0};
    ssq_status st =
        disk_read(l->c->what, l->f->path, l->f->fd, e->begin, t, sizeof(t));
    if (st == SSQ_OK && t[3] > 0x7f)
        return error_set(SSQ_ERR_INVALID, "%s: %.300s: t is negative",
                         l->c->what, l->f->path);
    return st;
}

static const struct safetensors_entry *
state_find(const struct load_loading *l, const char *name, ssq_status *st)
{
    size_t n = sizeof(OWN_OPTIMIZER) + strlen(name);
    char *key = mem_alloc(n);
    if (key == NULL) {
        *st = error_nomem(l->c->what, n);
        return NULL;
    }
    snprintf(key, n, OWN_OPTIMIZER "%s", name);
    const struct safetensors_entry *e = entry_find(l->f, key);
    mem_free(key);
    *st = e != NULL ? SSQ_OK
                    : error_set(SSQ_ERR_INVALID,
                                "%s: %.300s: the optimizer has a \"%.100s\", "
                                "and the file has none",
                                l->c->what, l->f->path, name);
    return e;
}

static ssq_status compare_state(void *user, const struct state_of *state)
{
    struct load_loading *l = user;
    struct view place;
    ssq_status st;
    const struct safetensors_entry *e = state_find(l, state->name, &st);
    if (st != SSQ_OK)
        return st;
    const ssq_tensor whole = {.view = state->whole};
    if (e->spelling.dtype != whole.view.dtype)
        return load_differs(l, e->name, e->spelling.text,
                            spelling_of_dtype(whole.view.dtype)->text);
    l->seen[e - l->f->entry] = true;
    st = values_fit(l->f, e, NULL, &whole, &place);
    return st == SSQ_OK && state->slot < 0 ? compare_control(l, e) : st;
}

static ssq_status compare_optimizer(const struct load_loading *l)
{
    const struct checkpoint *c = l->c;
    const char *ours = optimizer_kinds[c->optimizer->kind].name;
    const char *theirs = ssq_safetensors_metadata(l->f, "sesqui.optimizer");
    if (theirs == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s is a checkpoint without an optimizer",
                         c->what, l->f->path);
    if (strcmp(ours, theirs) != 0)
        return load_differs(l, "the optimizer", theirs, ours);
    return SSQ_OK;
}

/* Create the optimizer's state, and check that the file has exactly its
 * tensors. */
static ssq_status make_optimizer(struct load_loading *l)
{
    struct checkpoint *c = l->c;
    l->seen = mem_alloc_array(l->f->n, sizeof(bool));
    if (l->seen == NULL)
        return error_nomem(c->what, l->f->n);
    ssq_status st = c->give != NULL ? c->give(c->user) : SSQ_OK;
    if (st == SSQ_OK)
        st = optimizer_seal(c->queue, c->optimizer, c->what);
    if (st == SSQ_OK)
        st = optimizer_states(c->optimizer, compare_state, l);
    for (size_t i = 0; i < l->f->n && st == SSQ_OK; i++)
        if (begins(l->f->entry[i].name, OWN_OPTIMIZER) && !l->seen[i])
            return error_set(SSQ_ERR_INVALID,
                             "%s: %.300s has a \"%.100s\", and the optimizer "
                             "has none",
                             c->what, l->f->path, l->f->entry[i].name);
    return st;
}

/* Read the part of a state that is on this rank: a run of elements of the
 * file's tensor. */
static ssq_status write_state(void *user, const struct state_of *state)
{
    struct load_loading *l = user;
    ssq_status st;
    if (state->here == NULL)
        return SSQ_OK;
    const struct safetensors_entry *e = state_find(l, state->name, &st);
    if (st != SSQ_OK)
        return st;
    struct view place = tensor_view(state->here, ACCESS_WRITE);
    struct safetensors_entry part = *e;
    place.rank = part.rank = 1;
    place.shape[0] = part.shape[0] = view_elements(&state->here->view);
    place.stride[0] = 1;
    part.begin += (uint64_t)state->from * e->spelling.bytes;
    part.bytes = (uint64_t)part.shape[0] * e->spelling.bytes;
    return values_read(l->c->queue, l->f, &part, &place);
}

/* Read all states. Then send the new t to the host if a schedule depends on
 * it. */
static ssq_status write_optimizer(struct load_loading *l)
{
    ssq_status st = optimizer_states(l->c->optimizer, write_state, l);
    optimizer_tell(l->c->queue, l->c->optimizer);
    return st;
}

/* ---- host words ---- */

/* Read a tensor to host memory. It must exist and have exactly n elements. */
static ssq_status read_host(const struct load_loading *l, const char *name,
                            ssq_dtype dtype, size_t n, void *to)
{
    const struct safetensors_entry *e = entry_find(l->f, name);
    if (e == NULL || e->spelling.dtype != dtype || e->rank != 1 ||
        (uint64_t)e->shape[0] != n)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s: \"%s\" is missing, or is not %s [%zu]",
                         l->c->what, l->f->path, name,
                         spelling_of_dtype(dtype)->text, n);
    ssq_status st = disk_read(l->c->what, l->f->path, l->f->fd, e->begin, to,
                              (size_t)e->bytes);
    values_little(to, (size_t)e->bytes, e->spelling.bytes);
    return st;
}

/* Load the scaler. ssq_scaler_load() checks the whole blob before it writes. */
static ssq_status load_scaler(const struct load_loading *l)
{
    const struct safetensors_entry *e = entry_find(l->f, OWN_SCALER);
    size_t bytes = 0;
    ssq_status st = ssq_scaler_save(l->c->queue, l->c->scaler, NULL, 0, &bytes);
    if (st != SSQ_OK)
        return st;
    if (e == NULL)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s is a checkpoint without a scaler",
                         l->c->what, l->f->path);
    unsigned char *blob = mem_alloc_array(bytes, 1);
    if (blob == NULL)
        return error_nomem(l->c->what, bytes);
    st = read_host(l, OWN_SCALER, SSQ_U8, bytes, blob);
    if (st == SSQ_OK)
        st = ssq_scaler_load(l->c->queue, l->c->scaler, blob, bytes);
    mem_free(blob);
    return st;
}

/* ---- the load ---- */

static ssq_status compare_version(const struct load_loading *l)
{
    const struct checkpoint *c = l->c;
    const char *version = ssq_safetensors_metadata(l->f, "sesqui.version");
    if (version == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: %.300s is not a checkpoint",
                         c->what, l->f->path);
    if (strcmp(version, CHECKPOINT_VERSION) != 0)
        return load_differs(l, "the version", version, CHECKPOINT_VERSION);
    return header_digest_check(l->f, &l->crc);
}

static ssq_status compare_digests(const struct load_loading *l)
{
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < l->f->n && st == SSQ_OK; i++) {
        const struct safetensors_entry *e = &l->f->entry[i];
        if (digest_of(e) == NULL)
            return error_set(SSQ_ERR_INVALID,
                             "%s: %.300s: tensor \"%.100s\" has no digest",
                             l->c->what, l->f->path, e->name);
        st = digest_check(l->f, &l->crc, e);
    }
    if (st == SSQ_OK) /* the header contains the digests of all tensors */
        snprintf(l->c->digest, sizeof(l->c->digest), "%s",
                 ssq_safetensors_metadata(l->f, "crc64"));
    return st;
}

static ssq_status write_params(struct load_loading *l)
{
    ssq_params *p = l->c->params;
    ssq_status st = SSQ_OK;
    for (size_t i = 0; i < p->n && st == SSQ_OK; i++) {
        struct view place;
        l->c->written = true;
        st = values_fit(l->f, l->param[i], NULL, p->at[i].tensor, &place);
        if (st == SSQ_OK)
            st = values_read(l->c->queue, l->f, l->param[i], &place);
    }
    if (st == SSQ_OK) {
        p->draws = l->words[0];
        p->options.seed = (uint64_t)l->words[2] << 32 | l->words[1];
    }
    return st;
}

/* Read the ranks' weights, if the file has them. */
static ssq_status read_weights(struct load_loading *l)
{
    const char *text = ssq_safetensors_metadata(l->f, "sesqui.weights");
    l->c->weights = text == NULL ? NULL : mem_strdup(text);
    return text == NULL || l->c->weights != NULL
               ? SSQ_OK
               : error_nomem(l->c->what, strlen(text));
}

/* Check that the file and the program have the same parts. */
static ssq_status load_compare_all(struct load_loading *l, bool has_optimizer)
{
    struct checkpoint *c = l->c;
    ssq_status st = c->params != NULL ? compare_params(l) : SSQ_OK;
    if (st == SSQ_OK && has_optimizer)
        st = compare_optimizer(l);
    else if (st == SSQ_OK && c->optimizer != NULL &&
             c->optimizer->state != NULL)
        st = load_differs(l, "the optimizer", "of before the first step",
                          "of a later one");
    if (st == SSQ_OK && c->whole && c->scaler == NULL &&
        entry_find(l->f, OWN_SCALER) != NULL)
        st = load_differs(l, "the scaler", "there", "none");
    return st == SSQ_OK ? compare_digests(l) : st;
}

/* Read the trainer's words, as many as the file has. */
static ssq_status read_trainer(const struct load_loading *l)
{
    const struct checkpoint *c = l->c;
    const struct safetensors_entry *e = entry_find(l->f, OWN_TRAINER);
    size_t n = c->n_words;
    if (e != NULL && e->rank == 1 && (uint64_t)e->shape[0] >= c->least_words &&
        (uint64_t)e->shape[0] < c->n_words)
        n = (size_t)e->shape[0];
    return read_host(l, OWN_TRAINER, SSQ_U32, n, c->words);
}

/* Read the words that live on the host, except the scaler's blob. */
static ssq_status load_read_words(struct load_loading *l)
{
    struct checkpoint *c = l->c;
    ssq_status st = SSQ_OK;
    if (c->params != NULL)
        st = read_host(l, OWN_PARAMS, SSQ_U32, PARAMS_WORDS, l->words);
    if (st == SSQ_OK && c->words != NULL)
        st = read_trainer(l);
    if (st == SSQ_OK && c->whole)
        st = read_weights(l);
    return st == SSQ_OK && c->check != NULL ? c->check(c->user) : st;
}

/* Write all values. The scaler is first, because it may still refuse its
 * blob. */
static ssq_status load_write_all(struct load_loading *l, bool has_optimizer)
{
    struct checkpoint *c = l->c;
    ssq_status st = SSQ_OK;
    if (c->scaler != NULL) {
        st = load_scaler(l);
        c->written = st == SSQ_OK;
    }
    if (st == SSQ_OK && c->params != NULL)
        st = write_params(l);
    if (st == SSQ_OK && has_optimizer) {
        c->written = true;
        st = write_optimizer(l);
    }
    return st;
}

static ssq_status load_all(struct load_loading *l)
{
    struct checkpoint *c = l->c;
    crc64_begin(&l->crc);
    if (l->f->shards > 0)
        return error_set(SSQ_ERR_INVALID,
                         "%s: %.300s is an index of %zu files, and a training "
                         "is saved in one: ssq_params_load reads the weights",
                         c->what, l->f->path, l->f->shards);
    ssq_status st = compare_version(l);
    bool has_optimizer =
        c->optimizer != NULL &&
        (!c->whole || entry_find(l->f, OWN_OPTIMIZER "control") != NULL);
    if (st == SSQ_OK)
        st = load_compare_all(l, has_optimizer);
    if (st == SSQ_OK)
        st = load_read_words(l);
    if (st == SSQ_OK && c->params != NULL)
        st = make_params(l);
    if (st == SSQ_OK && has_optimizer)
        st = make_optimizer(l);
    if (st == SSQ_OK)
        st = load_write_all(l, has_optimizer);
    ssq_status synced = queue_wait(c->queue);
    st = st == SSQ_OK ? synced : st;
    if (st == SSQ_OK && c->params != NULL)
        c->params->closed = "after a load";
    return st;
}

/* Log differences of device, processor, driver or choices: they are allowed,
 * but may change the rounding. A file without choices is not compared. */
static void compare_choices(const struct load_loading *l)
{
    const ssq_device *d = ssq_queue_device(l->c->queue);
    struct choices here;
    char key[64];
    for (size_t i = 0; i < CHOICES; i++) {
        snprintf(key, sizeof(key), CHOICE_KEY "%s", choice_names[i]);
        const char *there = ssq_safetensors_metadata(l->f, key);
        choices_of(d, i, &here);
        if (there != NULL && strcmp(there, here.text) != 0)
            log_line(SSQ_LOG_WARNING, "checkpoint",
                     "%s: %.300s: %s was \"%.300s\" when it was saved, and is "
                     "\"%.300s\" here: what follows may have other bits",
                     l->c->what, l->f->path, here.name, there, here.text);
    }
}

static void undo(const struct load_loading *l)
{
    const struct checkpoint *c = l->c;
    if (c->optimizer != NULL && !l->had_state)
        optimizer_cut(c->optimizer, l->had_given);
    if (c->params != NULL)
        params_cut(c->params, l->had_params);
}

ssq_status checkpoint_load(struct checkpoint *c, const char *path)
{
    struct load_loading l = {.c = c};
    if (c->optimizer != NULL) {
        l.had_state = c->optimizer->state != NULL;
        l.had_given = c->optimizer->n;
    }
    l.had_params = c->params == NULL ? 0 : c->params->n;
    c->written = false;
    ssq_status st = checkpoint_call(c, path);
    if (st == SSQ_OK)
        st = file_open(c->what, path, &l.f);
    if (st == SSQ_OK)
        st = load_all(&l);
    if (st == SSQ_OK)
        compare_choices(&l);
    else
        undo(&l);
    ssq_safetensors_close(&l.f);
    mem_free(l.param);
    mem_free(l.state);
    mem_free(l.full);
    mem_free(l.seen);
    return st;
}

/* ---- the public call ---- */

ssq_status ssq_checkpoint_load(ssq_queue *queue, const char *path,
                               const ssq_checkpoint_args *args)
{
    struct checkpoint c;
    ssq_status st = checkpoint_parts(&c, "checkpoint_load", queue, args);
    return st == SSQ_OK ? checkpoint_load(&c, path) : st;
}
