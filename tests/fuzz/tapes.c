/* SPDX-License-Identifier: Apache-2.0 */
/* tapes.c - fuzz target: programs over tapes, layers and trainers, on two
 * devices in lockstep.
 *
 * The first bytes say what the buffers hold and what is made at the beginning;
 * then each byte says what comes next, and what that is reads its choices. */

#include "tests/amp/kinds.h"
#include "tests/fuzz/tapes.h"

#include <stdio.h>
#include <string.h>

/* The steps of the longest program. */
enum { LONGEST = 64 };

/* ---- what steps share ---- */

const char *program_where(struct program *t)
{
    static char places[256][16];
    char *at = places[t->calls % 256];
    snprintf(at, sizeof(places[0]), "program:%u", t->calls % 256);
    return at;
}

const char *program_text(struct program *t, const char *const *list, size_t n)
{
    return list[input_below(t->in, (unsigned)n)];
}

ssq_status program_same(struct program *t, const char *what,
                        const ssq_status st[SIDES])
{
    fuzz_trace("%s: %s%s%s", what, ssq_status_name(st[0]),
               st[0] != SSQ_OK ? ": " : "",
               st[0] != SSQ_OK ? ssq_last_error() : "");
    fuzz_counts.calls++;
    fuzz_counts.done += st[0] == SSQ_OK;
    fuzz_counts.refused += st[0] != SSQ_OK;
    fuzz_counts.unsupported += st[0] == SSQ_ERR_UNSUPPORTED;
    if (!t->pair->same_bits && st[0] != st[1] &&
        (st[1] == SSQ_ERR_UNSUPPORTED || st[0] == SSQ_ERR_SCALE ||
         st[1] == SSQ_ERR_SCALE)) {
        t->apart = true;
        return st[1];
    }
    return pair_same(what, st[0], st[1]);
}

ssq_status program_latched(struct program *t, const char *what)
{
    ssq_status st[SIDES];
    for (unsigned s = 0; s < SIDES; s++)
        st[s] = ssq_tape_status(t->tape[s]);
    return program_same(t, what, st);
}

void program_sync(struct program *t)
{
    ssq_status st[SIDES];
    for (unsigned s = 0; s < SIDES; s++)
        st[s] = pair_wait(t->pair->queue[s]);
    if (pair_same("sync", st[0], st[1]) != SSQ_OK)
        fuzz_fail("the queue has an error");
}

/* ---- looking ---- */

static bool same_shape(const ssq_tensor *a, const ssq_tensor *b)
{
    bool same = ssq_tensor_dtype(a) == ssq_tensor_dtype(b) &&
                ssq_tensor_rank(a) == ssq_tensor_rank(b);
    for (int i = 0; same && i < ssq_tensor_rank(a); i++)
        same = ssq_tensor_size(a, i) == ssq_tensor_size(b, i);
    return same;
}

static void same_tensors(struct program *t, const char *what,
                         const ssq_tensor *const x[SIDES])
{
    static uint8_t bits[SIDES][ELEMENTS * 4];
    if ((x[0] == NULL) != (x[1] == NULL))
        fuzz_fail("%s: only %s has a tensor", what,
                  x[0] != NULL ? "the reference" : fuzz_device());
    if (x[0] == NULL)
        return;
    if (!same_shape(x[0], x[1]))
        fuzz_fail("%s: shapes or dtypes differ: %s of rank %d and %s of %d",
                  what, ssq_dtype_name(ssq_tensor_dtype(x[0])),
                  ssq_tensor_rank(x[0]), ssq_dtype_name(ssq_tensor_dtype(x[1])),
                  ssq_tensor_rank(x[1]));
    int64_t n = ssq_tensor_elements(x[0]);
    size_t bytes = (size_t)n * cell_bytes(ssq_tensor_dtype(x[0]));
    if (!t->pair->same_bits || n > ELEMENTS)
        return;
    for (unsigned s = 0; s < SIDES; s++)
        if (ssq_tensor_read(t->pair->queue[s], x[s], bits[s], bytes,
                            ssq_tensor_dtype(x[s])) != SSQ_OK)
            fuzz_fail("%s: a tensor cannot be read", what);
    program_sync(t);
    for (size_t i = 0; i < bytes; i++)
        if (bits[0][i] != bits[1][i])
            fuzz_fail("%s: byte %zu is %02x on the reference, %02x on %s", what,
                      i, bits[0][i], bits[1][i], fuzz_device());
}

static void look_at(struct program *t, const char *what,
                    const ssq_var var[SIDES])
{
    const ssq_tensor *x[SIDES];
    if (ssq_var_rank(var[0]) != ssq_var_rank(var[1]))
        fuzz_fail("%s: ranks %d and %d", what, ssq_var_rank(var[0]),
                  ssq_var_rank(var[1]));
    for (int i = 0; i < ssq_var_rank(var[0]); i++)
        if (ssq_var_size(var[0], i) != ssq_var_size(var[1], i))
            fuzz_fail("%s: sizes %lld and %lld", what,
                      (long long)ssq_var_size(var[0], i),
                      (long long)ssq_var_size(var[1], i));
    if (t->calls % 4 != 0)
        return; /* a var that is asked for its tensor keeps it */
    for (unsigned s = 0; s < SIDES; s++)
        x[s] = ssq_var_tensor(var[s]);
    same_tensors(t, what, x);
}

void program_params(struct program *t, bool grads)
{
    size_t n = ssq_params_count(t->params[0]);
    if (n != ssq_params_count(t->params[1]))
        fuzz_fail("%zu parameters and %zu", n, ssq_params_count(t->params[1]));
    for (size_t i = 0; i < n; i++) {
        ssq_param_info info[SIDES], found = SSQ_PARAM_INFO_INIT;
        const ssq_tensor *x[SIDES], *grad[SIDES];
        for (unsigned s = 0; s < SIDES; s++) {
            info[s] = (ssq_param_info)SSQ_PARAM_INFO_INIT;
            if (ssq_params_get(t->params[s], i, &info[s]) != SSQ_OK ||
                ssq_params_find(t->params[s], info[s].name, &found) != SSQ_OK ||
                found.tensor != info[s].tensor)
                fuzz_fail("parameter %zu is not found", i);
            x[s] = info[s].tensor;
            grad[s] = info[s].grad;
        }
        if (strcmp(info[0].name, info[1].name) != 0)
            fuzz_fail("parameter %zu is \"%s\" and \"%s\"", i, info[0].name,
                      info[1].name);
        same_tensors(t, info[0].name, x);
        if (grads)
            same_tensors(t, info[0].name, grad);
    }
}

/* ---- vars ---- */

static bool too_large(ssq_var var)
{
    int64_t n = 1;
    for (int i = 0; i < ssq_var_rank(var); i++)
        n *= ssq_var_size(var, i);
    return n > ELEMENTS;
}

void program_made(struct program *t, const char *what, const ssq_var var[SIDES])
{
    bool ok = program_latched(t, what) == SSQ_OK;
    if (t->apart || (!ok && t->calls % 8 != 0))
        return;
    look_at(t, what, var);
    if (too_large(var[0]))
        return;
    memcpy(t->vars[t->next], var, sizeof(t->vars[0]));
    t->next = (t->next + 1) % VARS;
    t->n += t->n < VARS;
    t->fresh += ok && t->fresh < VARS;
}

void program_input(struct program *t, int rank, const int64_t *shape,
                   ssq_var var[SIDES])
{
    static const ssq_dtype dtypes[] = {SSQ_F32, SSQ_F32, SSQ_F16, SSQ_BF16};
    ssq_dtype dtype = dtypes[input_below(t->in, 4)];
    unsigned buffer = input_below(t->in, BUFFERS - 1);
    uint64_t at = (uint64_t)input_below(t->in, 64) * 16;
    const char *where = program_where(t);
    for (unsigned s = 0; s < SIDES; s++) {
        ssq_tensor *x = NULL;
        if (ssq_tensor_from_buffer(t->pair->buffer[buffer][s], dtype, rank,
                                   shape, NULL, at, &x) != SSQ_OK)
            fuzz_fail("a tensor in a buffer is refused");
        var[s] = ssq_var_input_at(where, t->tape[s], x);
        ssq_tensor_destroy(&x);
    }
}

void program_param(struct program *t, int rank, const int64_t *shape,
                   ssq_var var[SIDES])
{
    static const ssq_init_kind inits[] = {SSQ_INIT_ZEROS, SSQ_INIT_UNIFORM,
                                          SSQ_INIT_NORMAL, SSQ_INIT_CONSTANT};
    ssq_param_args args = SSQ_PARAM_INIT;
    unsigned b = input_byte(t->in);
    char name[160] = "w";
    args.rank = rank;
    memcpy(args.shape, shape, sizeof(args.shape));
    for (int i = 0; i < rank && b < 250; i++)
        snprintf(name + strlen(name), 24, ".%lld", (long long)shape[i]);
    if (b % 2 == 1)
        strcat(name, "b");
    args.init = inits[b / 2 % 8 < 6 ? 1 : b / 2 % 4];
    args.gain = 1.0;
    args.full = b >= 224;
    args.state = b == 223;
    const char *where = program_where(t);
    for (unsigned s = 0; s < SIDES; s++)
        var[s] = ssq_var_param_at(where, t->tape[s], name, &args);
}

void program_index(struct program *t, int rank, const int64_t *shape,
                   ssq_tensor *index[SIDES])
{
    static int32_t words[64];
    for (unsigned i = 0; i < 64; i++)
        words[i] = (int32_t)(i * 7 % 3);
    unsigned at = input_below(t->in, 8);
    for (unsigned s = 0; s < SIDES; s++)
        if (ssq_tensor_from_buffer(t->pair->buffer[BUFFERS - 1][s], SSQ_I32,
                                   rank, shape, NULL, at * 256,
                                   &index[s]) != SSQ_OK)
            fuzz_fail("a tensor in a buffer is refused");
    if (input_below(t->in, 4) != 0)
        return;
    (void)pair_write(t->pair, index, words,
                     (size_t)ssq_tensor_elements(index[0]) * 4, SSQ_I32);
    program_sync(t);
}

void program_pick(struct program *t, int rank, ssq_var var[SIDES])
{
    static const uint8_t sizes[] = {2, 3, 4, 8, 1, 5, 0, 7};
    int64_t shape[SSQ_MAX_RANK], n = 1;
    unsigned b = input_byte(t->in);
    /* Those before this pass are refused: rarely. */
    unsigned among = b >= 250 ? t->n : t->fresh;
    for (unsigned i = 0; i < among && b >= 32; i++) {
        unsigned at = (t->next + 2 * VARS - 1 - (i + b) % among) % VARS;
        if (rank >= 0 && ssq_var_rank(t->vars[at][0]) != rank)
            continue;
        memcpy(var, t->vars[at], sizeof(t->vars[0]));
        return;
    }
    rank = rank >= 0 ? rank : (int)(b % 4);
    for (int i = 0; i < rank; i++) {
        shape[i] = sizes[input_byte(t->in) % 32 % 8];
        shape[i] = n * shape[i] > 512 ? 1 : shape[i];
        n *= shape[i];
    }
    if (b % 4 == 3)
        program_input(t, rank, shape, var);
    else
        program_param(t, rank, shape, var);
}

/* ---- a program ---- */

void program_begin(struct program *t)
{
    bool training = input_byte(t->in) % 8 != 7;
    fuzz_trace("begin %d", training);
    for (unsigned s = 0; s < SIDES; s++)
        if (t->trainer[s] == NULL)
            ssq_tape_begin(t->tape[s], training);
        else
            t->tape[s] = training ? ssq_trainer_begin(t->trainer[s])
                                  : ssq_trainer_evaluate(t->trainer[s]);
    t->fresh = 0;
    (void)program_latched(t, "begin");
}

static const char *const policies[] = {
    "float32",      "mixed_float16",          "mixed_bfloat16",
    NULL,           "mixed_float16",          "mixed_float16,gelu=float32",
    "mixed_float1", "float32,softmax=nothing"};
static const char *const kinds[] = {KIND_NAMES "other"};
enum { KINDS = OPT_KINDS + 1 };
static const char *const scalers[] = {NULL,     "sesqui", "pytorch", NULL,
                                      "keras3", "fastai", "fixed",   "nobody"};

static ssq_optimizer_options some_optimizer(unsigned kind, unsigned b)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    o.lr = 0.125;
    if ((b & 1) != 0)
        o.weight_decay = 0.01;
    if ((b & 2) != 0)
        o.clip_norm = 1.0;
    if ((b & 12) == 12 && kind == 0)
        o.momentum = 0.9;
    return o;
}

static void open_trainer(struct program *t)
{
    ssq_trainer_args args = SSQ_TRAINER_INIT;
    ssq_status st[SIDES];
    unsigned kind = input_byte(t->in) % KINDS, b = input_byte(t->in);
    args.policy = PROGRAM_TEXT(t, policies);
    args.params.seed = b;
    args.params.float32_gradients = (b & 16) != 0;
    args.optimizer = kinds[kind];
    args.options = some_optimizer(kind, b);
    args.scaler = PROGRAM_TEXT(t, scalers);
    args.accumulate = (b & 32) != 0 ? b % 4 : 1;
    args.clip_value = (b & 192) == 192 ? 0.5 : 0.0;
    for (unsigned s = 0; s < SIDES; s++) {
        args.replay = s != 0 && (b & 1) != 0; /* replayed or not */
        st[s] = ssq_trainer_create(t->pair->queue[s], &args, &t->trainer[s]);
    }
    if (program_same(t, "trainer_create", st) != SSQ_OK)
        return;
    for (unsigned s = 0; s < SIDES; s++) {
        t->params[s] = ssq_trainer_params(t->trainer[s]);
        t->optimizer[s] = ssq_trainer_optimizer(t->trainer[s]);
        t->scaler[s] = ssq_trainer_scaler(t->trainer[s]);
        if (ssq_trainer_queue(t->trainer[s]) != t->pair->queue[s])
            fuzz_fail("the trainer has another queue");
    }
}

static void open_parts(struct program *t)
{
    ssq_params_options options = SSQ_PARAMS_OPTIONS_INIT;
    ssq_status made[SIDES], st[SIDES];
    const char *policy = PROGRAM_TEXT(t, policies);
    const char *preset = PROGRAM_TEXT(t, scalers);
    unsigned kind = input_byte(t->in) % KINDS, b = input_byte(t->in);
    options.seed = b;
    options.float32_gradients = (b & 16) != 0;
    ssq_optimizer_options how = some_optimizer(kind, b);
    for (unsigned s = 0; s < SIDES; s++) {
        ssq_device *d = t->pair->device[s];
        made[s] = ssq_params_create(d, policy, &options, &t->params[s]);
        if (made[s] == SSQ_OK &&
            ssq_tape_create(t->pair->queue[s], t->params[s], &t->tape[s]) !=
                SSQ_OK)
            fuzz_fail("tape_create");
        st[s] = ssq_optimizer_create(d, kinds[kind], &how, &t->optimizer[s]);
    }
    (void)program_same(t, "params_create", made);
    (void)program_same(t, "optimizer_create", st);
    for (unsigned s = 0; s < SIDES; s++)
        st[s] = preset == NULL ? SSQ_OK
                               : ssq_scaler_create(t->pair->device[s], preset,
                                                   NULL, &t->scaler[s]);
    (void)program_same(t, "scaler_create", st);
}

static void close_program(struct program *t)
{
    for (unsigned s = 0; s < SIDES; s++) {
        if (t->trainer[s] != NULL) {
            ssq_trainer_destroy(&t->trainer[s]);
            continue;
        }
        ssq_tape_destroy(&t->tape[s]);
        ssq_params_destroy(&t->params[s]);
        ssq_optimizer_destroy(&t->optimizer[s]);
        ssq_scaler_destroy(&t->scaler[s]);
    }
}

static const struct step *choose_step(const struct step *list, size_t n,
                                      unsigned b)
{
    unsigned sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += list[i].weight;
    b %= sum;
    for (size_t i = 0; i < n; i++) {
        if (b < list[i].weight)
            return &list[i];
        b -= list[i].weight;
    }
    return list;
}

static void one_step(struct program *t)
{
    unsigned b = input_byte(t->in), n = input_byte(t->in);
    const struct step *step;
    if (b < 128)
        step = choose_step(var_steps, var_steps_count, n);
    else if (b < 192)
        step = choose_step(layer_steps, layer_steps_count, n);
    else
        step = choose_step(train_steps, train_steps_count, n);
    fuzz_trace("-- %u: %s", t->calls, step->name);
    step->act(t);
    t->calls++;
    /* After an error nothing happens until the next pass. */
    if (!t->apart && ssq_tape_status(t->tape[0]) != SSQ_OK &&
        input_byte(t->in) % 8 != 7)
        program_begin(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct pair p;
    struct input in = {data, data + bytes};
    struct program t;
    memset(&t, 0, sizeof(t));
    t.pair = &p;
    t.in = &in;
    pair_open(&p, &in);
    if (input_byte(&in) % 2 == 0)
        open_parts(&t);
    else
        open_trainer(&t);
    if (t.params[0] != NULL && t.params[1] != NULL) {
        program_begin(&t);
        for (int i = 0; i < LONGEST && !input_done(&in) && !t.apart; i++)
            one_step(&t);
        if (!t.apart)
            program_params(&t, false);
    }
    close_program(&t);
    pair_close(&p);
    return 0;
}
