/* SPDX-License-Identifier: Apache-2.0 */
/* tape_vars.c - steps of a program over tapes: ops over vars, and views. */

#include <stdio.h>
#include <string.h>

#include "tests/fuzz/call.h"
#include "tests/fuzz/tapes.h"
#include "vars_table.h"

enum { TABLE = sizeof(table) / sizeof(table[0]) };

static const struct fuzz_op *op_of(const char *name)
{
    for (size_t i = 0; i < fuzz_ops_count; i++)
        if (strcmp(fuzz_ops[i].name, name) == 0)
            return &fuzz_ops[i];
    fuzz_fail("%s_var has no op", name);
}

/* A var of this pass that has the shape of an operand. */
static bool alike(struct program *t, const struct fuzz_operand *x,
                  ssq_var var[SIDES])
{
    for (unsigned i = 0; i < t->fresh; i++) {
        ssq_var *v = t->vars[(t->next + VARS - 1 - i) % VARS];
        bool same = ssq_var_rank(v[0]) == x->rank;
        for (int k = 0; same && k < x->rank; k++)
            same = ssq_var_size(v[0], k) == x->shape[k];
        if (same && (x->rank > 0 || i % 4 == 3)) {
            memcpy(var, v, sizeof(t->vars[0]));
            return true;
        }
    }
    return false;
}

static void operand(struct program *t, const struct call *c,
                    const struct fuzz_operand *x, ssq_var var[SIDES])
{
    unsigned b = input_byte(t->in);
    const char *where = program_where(t);
    var[0] = var[1] = SSQ_VAR_NONE;
    if (x == NULL || !x->used || (b < 160 && b > 4 && alike(t, x, var)))
        return;
    if (b < 64 || (b > 128 && b < 224)) {
        program_param(t, x->rank, x->shape, var);
        return;
    }
    bool wrong = c->base_rank < 0 && x == c->x; /* of the other device */
    for (unsigned s = 0; s < SIDES; s++)
        var[s] =
            ssq_var_input_at(where, t->tape[s], x->tensor[wrong ? 1 - s : s]);
}

/* Indices and masks that mean something, where no pass has read floats. */
static void place_options(struct call *c, const struct fuzz_var *f)
{
    for (unsigned i = 0; i < c->n; i++) {
        struct fuzz_operand *x = &c->x[i];
        bool is_var = false;
        for (unsigned k = 0; k < f->n; k++)
            is_var = is_var || strcmp(x->field->name, f->vars[k]) == 0;
        if (!is_var && x->field->role == ROLE_IN)
            x->buffer = BUFFERS - 1;
        else if (x->buffer == BUFFERS - 1)
            x->buffer = 0;
    }
}

static void prepare_options(struct call *c)
{
    for (unsigned i = 0; i < c->n; i++)
        if (c->x[i].buffer == BUFFERS - 1)
            call_prepare(c, &c->x[i]);
}

/* The options of one side: operands and results in them stay NULL. */
static void options_of(const struct call *c, const struct fuzz_var *f,
                       unsigned side, uint8_t *args, const ssq_tensor **list)
{
    const void *none = NULL;
    call_bind(c, side, args, list);
    for (unsigned i = 0; i < c->n; i++) {
        bool clear = c->x[i].field->role == ROLE_OUT;
        for (unsigned k = 0; k < f->n; k++)
            clear = clear || strcmp(c->x[i].field->name, f->vars[k]) == 0;
        if (clear)
            memcpy(args + c->x[i].field->at, &none, sizeof(none));
    }
}

static void op_step(struct program *t)
{
    static struct call call;
    static union {
        double align;
        uint8_t bytes[ARGS_BYTES];
    } args;
    const struct fuzz_var *f = &table[input_byte(t->in) % TABLE];
    ssq_var v[8][SIDES], made[SIDES], more[SIDES][2];
    const ssq_tensor *list[LISTED];
    call_compose(&call, t->pair, t->in, op_of(f->name));
    place_options(&call, f);
    call_tensors(&call);
    prepare_options(&call);
    program_sync(t);
    bool defaults = input_byte(t->in) % 16 == 15;
    for (unsigned i = 0; i < f->n; i++)
        operand(t, &call, call_operand(&call, f->vars[i]), v[i]);
    const char *where = program_where(t);
    for (unsigned s = 0; s < SIDES; s++) {
        ssq_var mine[8];
        for (unsigned i = 0; i < f->n; i++)
            mine[i] = v[i][s];
        options_of(&call, f, s, args.bytes, list);
        more[s][0] = more[s][1] = SSQ_VAR_NONE;
        made[s] = f->call(where, mine, more[s], defaults ? NULL : args.bytes);
    }
    program_made(t, f->name, made);
    for (unsigned i = 0; i < f->more && !t->apart; i++) {
        for (unsigned s = 0; s < SIDES; s++)
            made[s] = more[s][i];
        program_made(t, f->name, made);
    }
    call_end(&call);
}

/* ---- views ---- */

static void reshape_step(struct program *t)
{
    ssq_var x[SIDES], y[SIDES];
    int64_t shape[SSQ_MAX_RANK], n = 1;
    program_pick(t, -1, x);
    for (int i = 0; i < ssq_var_rank(x[0]); i++)
        n *= ssq_var_size(x[0], i);
    unsigned b = input_byte(t->in);
    int rank = 1 + (int)(b % 3);
    for (int i = 0; i < rank; i++)
        shape[i] = 1;
    shape[b / 4 % (unsigned)rank] = b < 240 ? n : n + 1;
    if (b % 3 > 0 && n % 2 == 0 && b >= 64) {
        shape[0] = 2;
        shape[1] = b % 2 == 0 ? -1 : n / 2;
    }
    const char *where = program_where(t);
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = ssq_var_reshape_at(where, x[s], rank, shape);
    program_made(t, "reshape", y);
}

static void transpose_step(struct program *t)
{
    ssq_var x[SIDES], y[SIDES];
    int axes[SSQ_MAX_RANK];
    program_pick(t, -1, x);
    unsigned b = input_byte(t->in);
    int rank = ssq_var_rank(x[0]);
    for (int i = 0; i < SSQ_MAX_RANK; i++)
        axes[i] = rank > 0 ? (i + (int)b) % rank : 0;
    if (b == 255)
        axes[0] = 7;
    const char *where = program_where(t);
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = ssq_var_transpose_at(where, x[s], b % 4 == 0 ? NULL : axes);
    program_made(t, "transpose", y);
}

static void slice_step(struct program *t)
{
    ssq_var x[SIDES], y[SIDES];
    program_pick(t, -1, x);
    unsigned b = input_byte(t->in);
    int rank = ssq_var_rank(x[0]);
    int axis = rank > 0 ? (int)(b % (unsigned)rank) - (b >= 128 ? rank : 0) : 0;
    int64_t size =
        rank > 0 ? ssq_var_size(x[0], axis < 0 ? axis + rank : axis) : 0;
    int64_t start = input_below(t->in, (unsigned)(size % 200) + 1);
    int64_t stop = start + input_below(t->in, (unsigned)(size % 200) + 1);
    if (b % 32 != 31 && stop > size)
        stop = size;
    int64_t step = input_byte(t->in) % 64 % 5 + (b != 255);
    const char *where = program_where(t);
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = ssq_var_slice_at(where, x[s], axis, start, stop, step);
    program_made(t, "slice", y);
}

static void broadcast_step(struct program *t)
{
    ssq_var x[SIDES], y[SIDES];
    int64_t shape[SSQ_MAX_RANK + 1];
    program_pick(t, -1, x);
    unsigned b = input_byte(t->in);
    int rank = ssq_var_rank(x[0]), more = rank < 5 ? (int)(b % 2) : 0;
    for (int i = 0; i < rank; i++)
        shape[more + i] =
            ssq_var_size(x[0], i) == 1 ? 1 + b / 8 % 3 : ssq_var_size(x[0], i);
    shape[0] = more > 0 ? 2 : rank > 0 ? shape[0] : 1;
    if (b >= 248 && rank > 0)
        shape[more]++;
    const char *where = program_where(t);
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = ssq_var_broadcast_at(where, x[s], rank + more, shape);
    program_made(t, "broadcast", y);
}

static void concat_step(struct program *t)
{
    ssq_var x[3][SIDES], y[SIDES];
    unsigned b = input_byte(t->in);
    program_pick(t, -1, x[0]);
    for (unsigned i = 1; i < 3; i++)
        if (b % 4 == 3)
            program_pick(t, ssq_var_rank(x[0][0]), x[i]);
        else
            memcpy(x[i], x[0], sizeof(x[0]));
    int rank = ssq_var_rank(x[0][0]);
    int axis = rank > 0 ? (int)(b / 4) % rank : 0;
    const char *where = program_where(t);
    for (unsigned s = 0; s < SIDES; s++) {
        const ssq_var list[] = {x[0][s], x[1][s], x[2][s]};
        y[s] = ssq_var_concat_at(where, list, b < 250 ? 1 + b / 16 % 3 : 0,
                                 b % 2 == 0 ? axis : axis - rank);
    }
    program_made(t, "concat", y);
}

static void cast_step(struct program *t)
{
    static const ssq_dtype dtypes[] = {SSQ_F16, SSQ_BF16, SSQ_F32,
                                       SSQ_F16, SSQ_F32,  SSQ_I32};
    ssq_var x[SIDES], y[SIDES];
    program_pick(t, -1, x);
    ssq_dtype to = dtypes[input_byte(t->in) % 16 % 6];
    const char *where = program_where(t);
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = ssq_var_cast_at(where, x[s], to);
    program_made(t, "cast", y);
}

static void detach_step(struct program *t)
{
    ssq_var x[SIDES], y[SIDES];
    program_pick(t, -1, x);
    const char *where = program_where(t);
    bool watch = input_byte(t->in) % 4 != 0;
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = watch ? ssq_var_watch_at(where, x[s])
                     : ssq_var_detach_at(where, x[s]);
    program_made(t, watch ? "watch" : "detach", y);
}

static void named_step(struct program *t)
{
    ssq_var y[SIDES];
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    const char *name = "none";
    unsigned b = input_byte(t->in);
    const ssq_params *all = t->params[0];
    if (b < 248 && ssq_params_count(all) > 0 &&
        ssq_params_get(all, b % ssq_params_count(all), &info) == SSQ_OK)
        name = info.name;
    const char *where = program_where(t);
    for (unsigned s = 0; s < SIDES; s++)
        y[s] = ssq_var_named_at(where, t->tape[s], b == 255 ? NULL : name);
    program_made(t, "named", y);
}

static void param_step(struct program *t)
{
    int64_t shape[SSQ_MAX_RANK] = {0};
    ssq_var y[SIDES];
    int rank = (int)input_below(t->in, 4);
    for (int i = 0; i < rank; i++)
        shape[i] = 1 + input_byte(t->in) % 16 % 6;
    program_param(t, rank, shape, y);
    program_made(t, "param", y);
}

/* ---- regions ---- */

static void push_step(struct program *t)
{
    static const char *const names[] = {"a",
                                        "block",
                                        "b.c",
                                        "",
                                        NULL,
                                        "a name that is longer than a name of "
                                        "a parameter may be, with its scopes "
                                        "and its dots, by a good many letters"};
    unsigned b = input_byte(t->in);
    const char *name = names[b < 240 ? b % 3 : b % 6];
    for (unsigned s = 0; s < SIDES; s++)
        ssq_tape_push(t->tape[s], name);
    (void)program_latched(t, "push");
}

static void pop_step(struct program *t)
{
    for (unsigned s = 0; s < SIDES; s++)
        ssq_tape_pop(t->tape[s]);
    (void)program_latched(t, "pop");
}

static void pause_step(struct program *t)
{
    bool pause = input_byte(t->in) % 4 == 3;
    for (unsigned s = 0; s < SIDES; s++)
        if (pause)
            ssq_tape_pause(t->tape[s]);
        else
            ssq_tape_resume(t->tape[s]);
    (void)program_latched(t, pause ? "pause" : "resume");
}

static const char *const regions[] = {
    "float32", "mixed_float16", "mixed_bfloat16", NULL, "mixed_float16,gemm=x"};

static void autocast_step(struct program *t)
{
    unsigned b = input_byte(t->in);
    const char *where = program_where(t);
    const char *policy = regions[b < 240 ? b % 4 : 4];
    for (unsigned s = 0; s < SIDES; s++)
        if (b % 8 < 4)
            ssq_tape_autocast_push_at(where, t->tape[s], policy);
        else
            ssq_tape_autocast_pop_at(where, t->tape[s]);
    (void)program_latched(t, "autocast");
}

/* A region for one op. */
static void autocast_var_step(struct program *t)
{
    ssq_var x[SIDES], y[SIDES];
    program_pick(t, -1, x);
    const char *where = program_where(t);
    const char *policy = regions[input_below(t->in, 4)];
    for (unsigned s = 0; s < SIDES; s++) {
        ssq_tape_autocast_push_at(where, t->tape[s], policy);
        y[s] = ssq_gelu_var_at(where, x[s]);
        y[s] = ssq_var_autocast_at(where, t->tape[s], y[s]);
    }
    program_made(t, "var_autocast", y);
}

/* Made twice: a block, or everything until the next of these. */
static void recompute_step(struct program *t)
{
    ssq_var x[SIDES], y[SIDES];
    program_pick(t, -1, x);
    unsigned b = input_byte(t->in);
    const char *where = program_where(t);
    for (unsigned s = 0; s < SIDES; s++) {
        if (b % 4 != 1)
            ssq_tape_recompute_push(t->tape[s]);
        y[s] = ssq_square_var_at(where, ssq_gelu_var_at(where, x[s]));
        if (b % 4 != 2)
            y[s] = ssq_tape_recompute_pop_at(where, t->tape[s],
                                             b >= 240 ? SSQ_VAR_NONE : y[s]);
    }
    program_made(t, "recompute", y);
}

const struct step var_steps[] = {
    {"op", op_step, 24},
    {"reshape", reshape_step, 3},
    {"transpose", transpose_step, 3},
    {"slice", slice_step, 3},
    {"broadcast", broadcast_step, 3},
    {"concat", concat_step, 3},
    {"cast", cast_step, 2},
    {"detach", detach_step, 2},
    {"named", named_step, 2},
    {"param", param_step, 4},
    {"push", push_step, 2},
    {"pop", pop_step, 1},
    {"pause", pause_step, 2},
    {"autocast", autocast_step, 2},
    {"var_autocast", autocast_var_step, 1},
    {"recompute", recompute_step, 3},
};
const size_t var_steps_count = sizeof(var_steps) / sizeof(var_steps[0]);
