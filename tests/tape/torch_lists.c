/* SPDX-License-Identifier: Apache-2.0 */
/* torch_lists.c - the dtypes of every op's operands and results under autocast,
 * compared with torch.amp.autocast on CUDA. Each difference is named, and must
 * exist. The same on every device.
 *
 * cases.list has the list of every op. Torch's lists:
 * aten/src/ATen/autocast_mode.h, AT_FORALL_LOWER_PRECISION_FP and the following
 * ones; https://pytorch.org/docs/stable/amp.html has them as text. An op in
 * none of them runs in the dtype of its operands. If it has several tensors,
 * type promotion makes float32 of both kinds. */
#include "tests/tape/tape.h"

#include "lib/tape/tape.h"

/* LOWER: torch's lower_precision_fp. FP32: fp32, whose operands are cast.
 * FP32_SET: fp32_set_opt_dtype, whose result is. PROMOTE: promote, and type
 * promotion. NO_LIST: in none of the lists. */
enum torch { LOWER, FP32, FP32_SET, PROMOTE, NO_LIST };

/* Differences, each with its reason. */
#define SAME ""
#define SUMS                                                                   \
    "torch leaves the mean in float16, whose sum inside is float32; here it "  \
    "is float32, as that of sum: both end at 65504 else"
#define CHANNELS                                                               \
    "torch's batch_norm is in no list and gives the dtype of x; here all "     \
    "norms give float32"

/* In the calls of cases.list, A is the first operand, and B another one. GAMMA
 * and BETA of norms are float32 under any policy. */
#define A(...) torch_value(t, "a" #__VA_ARGS__, dtype[0], __VA_ARGS__)
#define B(...) torch_value(t, "b" #__VA_ARGS__, dtype[1], __VA_ARGS__)
#define GAMMA  torch_value(t, "gamma", SSQ_F32, 1, 4)
#define BETA   torch_value(t, "beta", SSQ_F32, 1, 4)
#define CUBE   A(4, 2, 4, 4, 4)

struct torch_lists_data {
    ssq_tensor *target, *cond, *classes;
};

static ssq_var torch_value(ssq_tape *t, const char *name, ssq_dtype dtype,
                           int rank, ...)
{
    char whole[64];
    size_t n = 0;
    ssq_param_args p = SSQ_PARAM_INIT;
    va_list sizes;
    /* names have no blanks */
    for (const char *c = name; *c != '\0' && n < sizeof(whole) - 8; c++)
        if (*c != ' ')
            whole[n++] = *c;
    snprintf(whole + n, sizeof(whole) - n, ":%d", (int)dtype);
    p.rank = rank;
    p.init = SSQ_INIT_CONSTANT;
    p.value = 0.5;
    p.full = dtype == SSQ_F32;
    va_start(sizes, rank);
    for (int i = 0; i < rank; i++)
        p.shape[i] = va_arg(sizes, int);
    va_end(sizes);
    return ssq_var_param(t, whole, &p);
}

/* ---- the calls ---- */

/* Call an op by its name, with operands A and B, as many as it has. */
static ssq_var torch_call(ssq_tape *t, const char *op, const ssq_dtype *dtype)
{
    size_t i = 0;
    while (tape_ops[i] != NULL && strcmp(tape_ops[i]->name, op) != 0)
        i++;
    if (tape_ops[i] == NULL || tape_ops[i]->nvars > 2)
        tap_bail("%s is not an op of one or two operands", op);
    const ssq_var operands[2] = {A(2, 4, 4), B(2, 4, 4)};
    return tape_call("torch_lists.c", tape_ops[i], operands, NULL, NULL);
}

#define AUTOCAST_OF(OP, LIST, VAR, DIFFERENCE)                                 \
    static ssq_var torch_##OP(ssq_tape *t, const struct torch_lists_data *d,   \
                              const ssq_dtype *dtype)                          \
    {                                                                          \
        (void)d;                                                               \
        return VAR;                                                            \
    }
#include "tests/tape/cases.list"

static const struct listed {
    const char *op;
    enum torch list;
    const char *difference;
    /* NULL: torch_call() */
    ssq_var (*call)(ssq_tape *t, const struct torch_lists_data *d,
                    const ssq_dtype *dtype);
} listed[] = {
#define AUTOCAST(OP, LIST) {#OP, LIST, SAME, NULL},
#define AUTOCAST_OF(OP, LIST, VAR, DIFFERENCE)                                 \
    {#OP, LIST, DIFFERENCE, torch_##OP},
#include "tests/tape/cases.list"
};
#define LISTED (sizeof(listed) / sizeof(listed[0]))

/* ---- the log ---- */

/* The log's line about the last op: its operands' dtypes after the casts. */
struct seen {
    char line[1024], operands[16];
    unsigned lines;
};

static void hear(void *user, ssq_log_level level, const char *text)
{
    struct seen *s = user;
    (void)level;
    if (strstr(text, " under ") == NULL)
        return;
    snprintf(s->line, sizeof(s->line), "%s", text);
    s->lines++;
    const char *at = strchr(strstr(text, " under "), ':');
    const char *end = strchr(text, ';');
    size_t n = 0;
    while (at != NULL && at < end && n < sizeof(s->operands) - 1) {
        char name[32], from[8], to[8];
        int got =
            sscanf(at + 1, " %31s %7[a-z0-9] -> %7[a-z0-9]", name, from, to);
        bool bias =
            (name[0] == 'b' && strlen(name) > 1) || strcmp(name, "gamma") == 0;
        const char *is = got == 3 ? to : from;
        s->operands[n++] = bias ? 'b' : strcmp(is, "f32") == 0 ? 'F' : 'h';
        at = strchr(at + 1, ',');
    }
    s->operands[n] = '\0';
}

/* Return the dtype of torch's result for these operands. */
static ssq_dtype torch_gives(enum torch list, const ssq_dtype *dtype)
{
    switch (list) {
    case LOWER:
        return SSQ_F16;
    case FP32:
    case FP32_SET:
        return SSQ_F32;
    case PROMOTE:
        return dtype[0] == dtype[1] ? dtype[0] : SSQ_F32;
    default:
        return dtype[0];
    }
}

/* Operands of products are all in float16, except biases: these are added to
 * sums in float32, uncast (torch casts them, too). Operands of other ops are
 * not cast. If torch casts them to float32 first, kernels here read 16 bits and
 * compute in float32, with the same values. */
static bool operands_ok(enum torch list, const struct seen *s,
                        const ssq_dtype *dtype)
{
    bool ok = s->operands[0] != '\0';
    for (size_t i = 0; s->operands[i] != '\0'; i++) {
        char as_given = dtype[i > 0] == SSQ_F32 ? 'F' : 'h';
        char want = list == LOWER ? 'h' : as_given;
        ok = ok && (s->operands[i] == want || s->operands[i] == 'b');
    }
    return ok;
}

/* Call an op in one of three ways. Sets *differs if the result's dtype is not
 * torch's. Returns whether all dtypes are expected. */
static bool check_way(ssq_tape *t, const struct torch_lists_data *d,
                      const struct listed *l, const ssq_dtype *dtype,
                      struct seen *seen, bool *differs)
{
    ssq_tape_begin(t, true);
    seen->lines = 0;
    ssq_var v =
        l->call == NULL ? torch_call(t, l->op, dtype) : l->call(t, d, dtype);
    const ssq_tensor *y = ssq_var_tensor(v);
    if (y == NULL || seen->lines != 1) {
        tap_diag("%s", y == NULL && ssq_tape_status(t) != SSQ_OK
                           ? ssq_last_error()
                           : seen->line);
        return false;
    }
    bool same = ssq_tensor_dtype(y) == torch_gives(l->list, dtype);
    bool norm = ssq_tensor_dtype(y) == SSQ_F32;
    bool ok = operands_ok(l->list, seen, dtype) &&
              (same || (norm && l->difference[0] != '\0'));
    *differs = *differs || !same;
    if (!ok)
        tap_diag("%s", seen->line);
    return ok;
}

static void check(const struct tape_rig *r, const struct torch_lists_data *d)
{
    static const ssq_dtype ways[3][2] = {
        {SSQ_F16, SSQ_F16}, {SSQ_F32, SSQ_F32}, {SSQ_F16, SSQ_F32}};
    struct seen seen = {.lines = 0};
    ssq_log_set(hear, &seen);
    for (const struct listed *l = listed; l < listed + LISTED; l++) {
        bool good = true, differs = false, as_torch = l->difference[0] == '\0';
        for (int w = 0; w < 3; w++)
            good = check_way(r->tape, d, l, ways[w], &seen, &differs) && good;
        tap_ok(good && differs == !as_torch, "%s: %s: %s", r->name, l->op,
               as_torch ? "as torch" : l->difference);
    }
    ssq_log_set(NULL, NULL);
}

/* ---- the list ---- */

/* Return the op of a case: the longest name of an op that its name is, or
 * begins with. NULL: it has none. */
static const struct tape_op *op_of_case(const char *name)
{
    const struct tape_op *found = NULL;
    for (size_t i = 0; tape_ops[i] != NULL; i++) {
        size_t n = strlen(tape_ops[i]->name);
        if (strncmp(name, tape_ops[i]->name, n) == 0 &&
            (name[n] == '\0' || name[n] == '_') &&
            (found == NULL || n > strlen(found->name)))
            found = tape_ops[i];
    }
    return found;
}

/* Every op of a tape has its line and a case. */
static void all_listed(void)
{
    static const char *const names[] = {
#define CASE(NAME, VAR, TORCH) #NAME,
#include "tests/tape/cases.list"
    };
    size_t n = 0;
    for (; tape_ops[n] != NULL; n++) {
        bool line = false, tried = false;
        for (size_t i = 0; i < LISTED; i++)
            line = line || strcmp(listed[i].op, tape_ops[n]->name) == 0;
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            tried = tried || op_of_case(names[i]) == tape_ops[n];
        tap_ok(line && tried, "%s is in cases.list%s%s", tape_ops[n]->name,
               line ? "" : ", but not its AUTOCAST",
               tried ? "" : ", but no case of it");
    }
    tap_ok(n > 60 && n == LISTED, "%zu ops are compared, of %zu", LISTED, n);
}

int main(void)
{
    static const int64_t shape[] = {4, 4}, row[] = {4};
    static const float zeros[16];
    static const int classes[4] = {0, 3, 1, 2};
    all_listed();
    for (size_t i = 0; core_device(i) != NULL; i++) {
        struct tape_rig r = rig_open(core_device(i), "mixed_float16");
        struct torch_lists_data d = {.target = rig_floats(&r, 2, shape, zeros),
                                     .classes = rig_words(&r, 1, row, classes)};
        NEED(ssq_tensor_create(r.device, SSQ_U8, 2, shape, &d.cond));
        NEED(ssq_fill(r.queue, SSQ_FILL(.x = d.cond, .value = 1.0)));
        check(&r, &d);
        ssq_tensor_destroy(&d.target);
        ssq_tensor_destroy(&d.classes);
        ssq_tensor_destroy(&d.cond);
        rig_close(&r);
    }
    return tap_done(3 * 60);
}
