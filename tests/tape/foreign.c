/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.c - parameters alone in files, under other names and the other way
 * round: one set writes, another reads, to the last bit; a file that does not
 * fit is refused with the parameter's name, and changes nothing. */
#include "tests/tape/harness.h"

#include <unistd.h>

#define IN   6
#define OUT  4
#define ROWS 3
#define MOST 256 /* elements of the set */

static char path[64];

/* Two blocks, a norm with states, a cube that is added to all. */
static ssq_var net(const struct tape_harness *b, ssq_tape *t)
{
    ssq_var y = ssq_var_input(t, b->x);
    for (int i = 0; i < 2; i++) {
        char scope[8];
        snprintf(scope, sizeof(scope), "h.%d", i);
        ssq_tape_push(t, scope);
        y = ssq_nn_layer_norm(t, "ln", ssq_nn_linear(t, "fc", y, 5, NULL),
                              NULL);
        ssq_tape_pop(t);
    }
    y = ssq_nn_batch_norm(t, "bn", ssq_nn_linear(t, "head", y, OUT, NULL),
                          NULL);
    ssq_var cube =
        ssq_var_param(t, "cube",
                      SSQ_PARAM(.rank = 3, .shape = {2, 3, 4},
                                .init = SSQ_INIT_NORMAL, .value = 0.1));
    y = ssq_add_var(y, ssq_mean_var(ssq_var_cast(cube, SSQ_F32), NULL));
    return ssq_mse_var(y, SSQ_MSE(.target = b->target));
}

static ssq_status step(const struct tape_harness *b, ssq_trainer *t)
{
    return ssq_trainer_step(t, net(b, ssq_trainer_begin(t)));
}

static ssq_trainer *trainer_of(const struct tape_harness *b, const char *policy,
                               ssq_master_kind master, uint64_t seed)
{
    ssq_optimizer_options o = SSQ_OPTIMIZER_INIT;
    ssq_trainer *t = NULL;
    o.lr = 0.01;
    o.master = master;
    NEED(ssq_trainer_create(
        b->queue,
        SSQ_TRAINER(.policy = policy, .options = o, .params.seed = seed), &t));
    NEED(ssq_params_allow(ssq_trainer_params(t), "*"));
    (void)net(b, ssq_trainer_evaluate(t));
    NEED(ssq_params_allow(ssq_trainer_params(t), NULL));
    return t;
}

static size_t values(const struct tape_harness *b, ssq_trainer *t,
                     float x[MOST])
{
    ssq_params_stats all = SSQ_PARAMS_STATS_INIT;
    NEED(ssq_params_stats_get(ssq_trainer_params(t), &all));
    NEED(ssq_params_read(ssq_trainer_params(t), b->queue,
                         ssq_trainer_optimizer(t), NULL, x,
                         (size_t)all.elements));
    return (size_t)all.elements;
}

/* ---- names and axes of another ---- */

static const int swapped[] = {1, 0}, turned[] = {2, 0, 1};
static const ssq_params_rule theirs[] = {
    {"h.*.fc.weight", "model.blocks.*.kernel", swapped, 2},
    {"h.?.*.*", "model.?|*|*", NULL, 0},
    {"h.*", "never.*", NULL, 0},
    {"head.weight", "head", swapped, 2},
    {"cube", "cube", turned, 3},
};
#define THEIRS .rules = theirs, .count = sizeof(theirs) / sizeof(theirs[0])

/* The same wild cards would be needed: an exact one, a longer list. */
static const ssq_params_rule wrong_cards[] = {{"h.*", "h", NULL, 0}};

/* The file has float32 tensors of those names and shapes. */
static bool as_said(const struct tape_harness *b, const ssq_trainer *t)
{
    static const struct {
        const char *name;
        int rank;
        int64_t shape[3];
    } want[] = {
        {"model.blocks.0.kernel", 2, {IN, 5}},
        {"model.blocks.1.kernel", 2, {5, 5}},
        {"model.0|fc|bias", 1, {5}},
        {"model.1|ln|weight", 1, {5}},
        {"head", 2, {5, OUT}},
        {"head.bias", 1, {OUT}},
        {"bn.running_var", 1, {OUT}},
        {"cube", 3, {4, 2, 3}},
    };
    ssq_safetensors *f = NULL;
    int bad = 0;
    NEED(ssq_safetensors_open(path, &f));
    for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        ssq_safetensors_info info = SSQ_SAFETENSORS_INFO_INIT;
        bad += ssq_safetensors_find(f, want[i].name, &info) != SSQ_OK ||
               strcmp(info.dtype, "F32") != 0 || info.rank != want[i].rank ||
               memcmp(info.shape, want[i].shape,
                      (size_t)want[i].rank * sizeof(int64_t)) != 0;
    }
    bad += ssq_safetensors_count(f) != ssq_params_count(ssq_trainer_params(t));
    /* cube[i][j][k] is stored as [k][i][j] */
    float here[24], there[24];
    ssq_tensor *x = NULL;
    NEED(ssq_tensor_create(b->device, SSQ_F32, 3, (int64_t[]){4, 2, 3}, &x));
    NEED(ssq_safetensors_read(b->queue, f, "cube", NULL, x));
    NEED(ssq_tensor_read(b->queue, x, there, sizeof(there), SSQ_F32));
    NEED(ssq_params_read(ssq_trainer_params(t), b->queue,
                         ssq_trainer_optimizer(t), "cube", here, 24));
    for (int i = 0; i < 24; i++)
        bad += there[i % 4 * 6 + i / 4] != here[i];
    ssq_tensor_destroy(&x);
    ssq_safetensors_close(&f);
    return bad == 0;
}

/* Trained weights are read by others, before their first step and after it. */
static void round_trip(const struct tape_harness *b, const char *policy,
                       ssq_master_kind master)
{
    float want[MOST], got[MOST];
    ssq_trainer *t = trainer_of(b, policy, master, 1), *other[2];
    for (int i = 0; i < 3; i++)
        NEED(step(b, t));
    const size_t n = values(b, t, want);
    NEED(ssq_params_save(
        ssq_trainer_params(t), b->queue, path,
        SSQ_PARAMS_FILE(THEIRS, .optimizer = ssq_trainer_optimizer(t))));
    bool said = as_said(b, t), same = true, differed = true;
    for (int i = 0; i < 2; i++) {
        other[i] = trainer_of(b, policy, master, 2);
        if (i == 1)
            NEED(step(b, other[i]));
        (void)values(b, other[i], got);
        differed = differed && memcmp(want, got, n * sizeof(*got)) != 0;
        NEED(ssq_params_load(
            ssq_trainer_params(other[i]), b->queue, path,
            SSQ_PARAMS_FILE(THEIRS,
                            .optimizer = ssq_trainer_optimizer(other[i]))));
        (void)values(b, other[i], got);
        same = same && memcmp(want, got, n * sizeof(*got)) == 0;
        NEED(step(b, other[i]));
        ssq_trainer_destroy(&other[i]);
    }
    tap_ok(said && same && differed,
           "%s: %s, masters %d: %zu values under other names, transposed, come "
           "back bit by bit",
           b->name, policy, (int)master, n);
    ssq_trainer_destroy(&t);
    unlink(path);
}

/* ---- what does not fit ---- */

/* A refused load leaves all values. */
static void refused(const struct tape_harness *b, ssq_trainer *t,
                    const ssq_params_file_args *args, ssq_status want,
                    const char *text, const char *name)
{
    float before[MOST], after[MOST];
    const size_t n = values(b, t, before);
    ssq_status st =
        ssq_params_load(ssq_trainer_params(t), b->queue, path, args);
    bool good = core_status(st, want, text, "refused: %s", name);
    (void)values(b, t, after);
    if (good && memcmp(before, after, n * sizeof(*after)) != 0)
        tap_ok(false, "%s: values have changed", name);
}

#define LONG8 "*a*a*a*a*a*a*a*a*a"

static void rules(const struct tape_harness *b)
{
    ssq_trainer *t = trainer_of(b, "mixed_float16", SSQ_MASTER_F32, 1);
    ssq_params *p = ssq_trainer_params(t);
    NEED(ssq_params_save(p, b->queue, path, NULL));
    refused(b, t, SSQ_PARAMS_FILE(THEIRS), SSQ_ERR_INVALID,
            "params_load|no \"model.blocks.0.kernel\", for parameter "
            "\"h.0.fc.weight\"",
            "names that are not there");
    refused(b, t,
            SSQ_PARAMS_FILE(.rules = (ssq_params_rule[]){{"*", "x*", NULL, 0}},
                            .count = 1, .missing = true),
            SSQ_ERR_INVALID, "none of 15 parameters, as \"h.0.fc.weight\"",
            "no name that is there");
    refused(
        b, t,
        SSQ_PARAMS_FILE(.rules = (ssq_params_rule[]){{"cube", "kube", NULL, 0}},
                        .count = 1, .missing = true),
        SSQ_ERR_INVALID, "has a \"cube\", which is none of 15 parameters",
        "a tensor that is nobody's");
    refused(
        b, t,
        SSQ_PARAMS_FILE(.rules = (ssq_params_rule[]){{"cube", NULL, NULL, 0}},
                        .count = 1),
        SSQ_ERR_INVALID, "has a \"cube\", which is none",
        "one that is left out");
    refused(b, t,
            SSQ_PARAMS_FILE(.rules = (ssq_params_rule[]){{"cube", "head.bias",
                                                          NULL, 0}},
                            .count = 1, .unused = true),
            SSQ_ERR_INVALID,
            "\"head.bias\" is [4], expected [2,3,4]|(for \"cube\")",
            "another shape, of another name");
    refused(b, t,
            SSQ_PARAMS_FILE(.rules = (ssq_params_rule[]){{"h.0.fc.weight",
                                                          "h.0.fc.weight",
                                                          swapped, 2}},
                            .count = 1),
            SSQ_ERR_INVALID,
            "\"h.0.fc.weight\" is [5,6], expected [6,5], the parameter's with",
            "another shape, by its axes");
    refused(b, t,
            SSQ_PARAMS_FILE(.rules = (ssq_params_rule[]){{"cube", "cube",
                                                          (int[]){0, 1, 1}, 3}},
                            .count = 1),
            SSQ_ERR_INVALID, "\"cube\": axes[2] is 1: not a permutation",
            "axes that are none");
    refused(b, t,
            SSQ_PARAMS_FILE(.rules = (ssq_params_rule[]){{"*.bias", "*.bias",
                                                          swapped, 2}},
                            .count = 1),
            SSQ_ERR_INVALID, "has rank 1, and the axes of \"*.bias\" are 2",
            "axes of another rank");
    refused(
        b, t,
        SSQ_PARAMS_FILE(.rules = (ssq_params_rule[]){{"*", "*", swapped, 0}},
                        .count = 1),
        SSQ_ERR_INVALID, "rules[0]: rank is 0, expected the number of axes",
        "axes without their number");
    unlink(path);
    ssq_trainer_destroy(&t);
}

static void wrong_rules(const struct tape_harness *b)
{
    ssq_trainer *t = trainer_of(b, "mixed_float16", SSQ_MASTER_F32, 1);
    ssq_trainer *less = NULL;
    char name[600];
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    NEED(ssq_params_save(ssq_trainer_params(t), b->queue, path, NULL));
    refused(b, t, SSQ_PARAMS_FILE(.rules = wrong_cards, .count = 1),
            SSQ_ERR_INVALID, "rules[0]: \"h.*\" has 1 wild cards, and \"h\" 0",
            "wild cards");
    refused(b, t,
            SSQ_PARAMS_FILE(.rules = (ssq_params_rule[]){{"cub*", "", NULL, 0}},
                            .count = 1),
            SSQ_ERR_INVALID, "has a \"cube\", which is none",
            "one that is left out, with a wild card");
    refused(b, t,
            SSQ_PARAMS_FILE(.rules = (ssq_params_rule[]){{LONG8, "a", NULL, 0}},
                            .count = 1),
            SSQ_ERR_INVALID, "has 9 wild cards, expected at most 8",
            "too many of them");
    refused(b, t,
            SSQ_PARAMS_FILE(.rules = (ssq_params_rule[]){{NULL, "a", NULL, 0}},
                            .count = 1),
            SSQ_ERR_INVALID, "rules[0].param is NULL", "no pattern");
    refused(
        b, t,
        SSQ_PARAMS_FILE(.rules = (ssq_params_rule[]){{"cube", name, NULL, 0}},
                        .count = 1),
        SSQ_ERR_INVALID, "of \"cube\" in the file has 599 bytes",
        "a name that is too long");
    refused(b, t, SSQ_PARAMS_FILE(.count = 1), SSQ_ERR_INVALID, "rules is NULL",
            "no rules");
    refused(b, t, &(ssq_params_file_args){.struct_size = 1}, SSQ_ERR_INVALID,
            "struct_size is 1", "another struct");
    NEED(ssq_trainer_create(b->queue, NULL, &less));
    (void)core_status(
        ssq_params_load(ssq_trainer_params(less), b->queue, path, NULL),
        SSQ_ERR_INVALID, "no parameters yet|ssq_params_allow",
        "refused: an empty set");
    ssq_trainer_destroy(&less);
    unlink(path);
    refused(b, t, NULL, SSQ_ERR_NOT_FOUND, path, "no such file");
    ssq_trainer_destroy(&t);
}

static void to_save(const struct tape_harness *b)
{
    ssq_trainer *t = trainer_of(b, "float32", SSQ_MASTER_F32, 1);
    ssq_params *p = ssq_trainer_params(t);
    const ssq_params_rule one[] = {{"*.weight", "w", NULL, 0}},
                          none[] = {{"*", NULL, NULL, 0}},
                          same[] = {{"h.?.*", "h?*", NULL, 0},
                                    {"cube", "head.bias", NULL, 0}},
                          bad[] = {{"cube", "cube", (int[]){0, 1, 3}, 3}};
    (void)core_status(
        ssq_params_save(p, b->queue, path,
                        SSQ_PARAMS_FILE(.rules = one, .count = 1)),
        SSQ_ERR_INVALID, "params_save|wild cards", "to save: wild");
    (void)core_status(
        ssq_params_save(p, b->queue, path,
                        SSQ_PARAMS_FILE(.rules = none, .count = 1)),
        SSQ_ERR_INVALID, "none of 15 parameters is in the file",
        "to save: nothing");
    (void)core_status(
        ssq_params_save(p, b->queue, path,
                        SSQ_PARAMS_FILE(.rules = same, .count = 2)),
        SSQ_ERR_INVALID, "two tensors are called \"head.bias\"",
        "to save: a name twice");
    (void)core_status(
        ssq_params_save(p, b->queue, path,
                        SSQ_PARAMS_FILE(.rules = bad, .count = 1)),
        SSQ_ERR_INVALID, "\"cube\": axes[2] is 3: not a permutation",
        "to save: no permutation");
    ssq_trainer_destroy(&t);
}

static void misuse(const struct tape_harness *b)
{
    ssq_trainer *t = trainer_of(b, "float32", SSQ_MASTER_F32, 1);
    ssq_params *p = ssq_trainer_params(t);
    ssq_graph *graph = NULL;
    (void)core_status(ssq_params_save(p, b->queue, NULL, NULL), SSQ_ERR_INVALID,
                      "path is NULL", "to save: no path");
    (void)core_status(ssq_params_save(NULL, b->queue, path, NULL),
                      SSQ_ERR_INVALID, "params is NULL", "to save: no set");
    (void)core_status(ssq_params_save(p, NULL, path, NULL), SSQ_ERR_INVALID,
                      "queue is NULL", "to save: no queue");
    (void)core_status(ssq_params_load(p, b->queue, NULL, NULL), SSQ_ERR_INVALID,
                      "path is NULL", "to load: no path");
    (void)core_status(ssq_params_load(NULL, b->queue, path, NULL),
                      SSQ_ERR_INVALID, "params is NULL", "to load: no set");
    NEED(ssq_graph_begin(b->queue));
    (void)core_status(ssq_params_save(p, b->queue, path, NULL), SSQ_ERR_INVALID,
                      "captured", "to save in a capture");
    (void)core_status(ssq_params_load(p, b->queue, path, NULL), SSQ_ERR_INVALID,
                      "captured", "to load in a capture");
    NEED(ssq_fill(b->queue, SSQ_FILL(.x = b->target)));
    NEED(ssq_graph_end(b->queue, &graph));
    ssq_graph_destroy(&graph);
    tap_ok(access(path, F_OK) != 0, "to save: no file is left by any of these");
    ssq_trainer_destroy(&t);
}

/* ---- some of them, and of other dtypes ---- */

static void put(const char *header, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    const size_t length = strlen(header);
    if (f == NULL)
        tap_bail("cannot write %s", path);
    for (int i = 0; i < 8; i++)
        fputc((int)(length >> 8 * i & 0xff), f);
    fwrite(header, 1, length, f);
    fwrite(bytes, 1, n, f);
    fclose(f);
}

/* Store n bytes of bits in the order of a file. */
static void store(unsigned char *at, uint64_t bits, int n)
{
    for (int i = 0; i < n; i++)
        at[i] = (unsigned char)(bits >> 8 * i);
}

/* A head alone, of float64 and bfloat16, beside a tensor of integers. */
static void parts(const struct tape_harness *b)
{
    static const char header[] =
        "{\"w\":{\"dtype\":\"F64\",\"shape\":[5,4],\"data_offsets\":[0,160]},"
        "\"n\":{\"dtype\":\"I64\",\"shape\":[4],\"data_offsets\":[160,192]},"
        "\"u\":{\"dtype\":\"F8_E5M2\",\"shape\":[4],"
        "\"data_offsets\":[192,196]},"
        "\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[196,204]}}";
    const ssq_params_rule r[] = {{"head.weight", "w", swapped, 2},
                                 {"head.bias", "b", NULL, 0}};
    const ssq_params_rule integers[] = {{"head.bias", "n", NULL, 0}},
                          eight[] = {{"head.bias", "u", NULL, 0}};
    const uint16_t bf16[4] = {0x3f81, 0xbf80, 0x0001, 0x4049};
    unsigned char data[204] = {0};
    float before[MOST], after[MOST], weight[20], bias[4];
    int bad = 0;
    for (int i = 0; i < 20; i++) {
        const double x = 1.0 / (i + 3);
        uint64_t bits;
        memcpy(&bits, &x, 8);
        store(data + 8 * i, bits, 8);
    }
    for (int i = 0; i < 4; i++)
        store(data + 196 + 2 * i, bf16[i], 2);
    put(header, data, sizeof(data));
    ssq_trainer *t = trainer_of(b, "mixed_float16", SSQ_MASTER_F32, 1);
    NEED(step(b, t));
    const size_t n = values(b, t, before);
    ssq_params *p = ssq_trainer_params(t);
    ssq_optimizer *o = ssq_trainer_optimizer(t);
    refused(b, t,
            SSQ_PARAMS_FILE(.rules = integers, .count = 1, .missing = true,
                            .unused = true),
            SSQ_ERR_INVALID,
            "\"n\" is I64, for a tensor of|(for \"head.bias\")", "integers");
    refused(b, t,
            SSQ_PARAMS_FILE(.rules = eight, .count = 1, .missing = true,
                            .unused = true),
            SSQ_ERR_UNSUPPORTED, "\"u\" is F8_E5M2|(for \"head.bias\")",
            "floats of 8 bits");
    refused(b, t, SSQ_PARAMS_FILE(.rules = r, .count = 2, .unused = true),
            SSQ_ERR_INVALID, "no \"h.0.fc.weight\"", "not all of them");
    NEED(ssq_params_load(p, b->queue, path,
                         SSQ_PARAMS_FILE(.optimizer = o, .rules = r, .count = 2,
                                         .missing = true, .unused = true)));
    NEED(ssq_params_read(p, b->queue, o, "head.weight", weight, 20));
    NEED(ssq_params_read(p, b->queue, o, "head.bias", bias, 4));
    for (int i = 0; i < 20; i++) /* [i / 5][i % 5] here, [i % 5][i / 5] there */
        bad += weight[i] != (float)(1.0 / (i % 5 * 4 + i / 5 + 3));
    for (int i = 0; i < 4; i++) {
        const uint32_t bits = (uint32_t)bf16[i] << 16;
        bad += memcmp(&bias[i], &bits, 4) != 0;
    }
    (void)values(b, t, after);
    size_t differ = 0;
    for (size_t i = 0; i < n; i++)
        differ += memcmp(&before[i], &after[i], 4) != 0;
    tap_ok(bad == 0 && differ == 24,
           "%s: a head of float64 and bfloat16; %zu of %zu values are others",
           b->name, differ, n);
    ssq_trainer_destroy(&t);
    unlink(path);
}

/* ---- damage ---- */

static void damaged(const struct tape_harness *b)
{
    static unsigned char bytes[1 << 14];
    float before[MOST], after[MOST];
    size_t taken = 0, tried = 0, changed = 0;
    ssq_trainer *from = trainer_of(b, "float32", SSQ_MASTER_F32, 2);
    ssq_trainer *t = trainer_of(b, "mixed_bfloat16", SSQ_MASTER_F32, 1);
    NEED(ssq_params_save(ssq_trainer_params(from), b->queue, path, NULL));
    FILE *f = fopen(path, "rb");
    const size_t size = f == NULL ? 0 : fread(bytes, 1, sizeof(bytes), f);
    if (f != NULL)
        fclose(f);
    const size_t n = values(b, t, before);
    size_t head = 8;
    for (int i = 0; i < 8; i++)
        head += (size_t)bytes[i] << 8 * i;
    for (size_t at = head; at < size; at += 7, tried++) {
        bytes[at] ^= 0x10;
        f = fopen(path, "wb");
        fwrite(bytes, 1, size, f);
        fclose(f);
        bytes[at] ^= 0x10;
        taken += ssq_params_load(ssq_trainer_params(t), b->queue, path, NULL) !=
                 SSQ_ERR_INVALID;
    }
    for (size_t cut = 0; cut < size; cut += 1 + size / 50, tried++) {
        f = fopen(path, "wb");
        fwrite(bytes, 1, cut, f);
        fclose(f);
        taken += ssq_params_load(ssq_trainer_params(t), b->queue, path, NULL) !=
                 SSQ_ERR_INVALID;
    }
    (void)values(b, t, after);
    changed = memcmp(before, after, n * sizeof(*after)) != 0;
    tap_ok(tried > 100 && taken == 0 && changed == 0,
           "%zu damaged files: %zu were taken", tried, taken);
    ssq_trainer_destroy(&from);
    ssq_trainer_destroy(&t);
    unlink(path);
}

/* A checkpoint is a file like others for a reader of weights alone. */
static void of_checkpoint(const struct tape_harness *b)
{
    float want[MOST], got[MOST];
    ssq_trainer *t = trainer_of(b, "mixed_bfloat16", SSQ_MASTER_F32, 1), *wide;
    ssq_param_info info = SSQ_PARAM_INFO_INIT;
    NEED(step(b, t));
    NEED(ssq_trainer_save(t, path));
    wide = trainer_of(b, "float32", SSQ_MASTER_F32, 2);
    NEED(ssq_params_load(ssq_trainer_params(wide), b->queue, path, NULL));
    const size_t n = values(b, wide, got);
    size_t at = 0;
    for (size_t i = 0; i < ssq_params_count(ssq_trainer_params(t)); i++) {
        NEED(ssq_params_get(ssq_trainer_params(t), i, &info));
        const size_t k = (size_t)ssq_tensor_elements(info.tensor);
        NEED(ssq_tensor_read(b->queue, info.tensor, want + at,
                             k * sizeof(*want), SSQ_F32));
        at += k;
    }
    NEED(ssq_queue_sync(b->queue));
    tap_ok(n == at && memcmp(want, got, n * sizeof(*got)) == 0,
           "%s: parameters of a checkpoint, without the rest of it", b->name);
    ssq_trainer_destroy(&t);
    ssq_trainer_destroy(&wide);
    unlink(path);
}

int main(void)
{
    snprintf(path, sizeof(path), "foreign-%ld", (long)getpid());
    for (size_t i = 0; core_device(i) != NULL; i++) {
        struct tape_harness b = harness_open(core_device(i), ROWS, IN, OUT);
        round_trip(&b, "float32", SSQ_MASTER_F32);
        round_trip(&b, "mixed_float16", SSQ_MASTER_F32);
        round_trip(&b, "mixed_bfloat16", SSQ_MASTER_SPLIT);
        parts(&b);
        harness_close(&b);
    }
    struct tape_harness b = harness_open("reference", ROWS, IN, OUT);
    rules(&b);
    wrong_rules(&b);
    to_save(&b);
    misuse(&b);
    damaged(&b);
    of_checkpoint(&b);
    harness_close(&b);
    return tap_done(2 * 7 + 29);
}
