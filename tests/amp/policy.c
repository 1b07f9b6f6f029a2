/* SPDX-License-Identifier: Apache-2.0 */
/* policy.c - dtype policies, and a class for every op that the headers have. */
#include "tests/amp/amp.h"

#include <dirent.h>

static void policies(void)
{
    static const struct {
        const char *name;
        ssq_dtype compute;
        bool scaling;
    } known[] = {{"float32", SSQ_F32, false},
                 {"mixed_float16", SSQ_F16, true},
                 {"mixed_bfloat16", SSQ_BF16, false}};
    for (size_t i = 0; i < 3; i++) {
        ssq_policy p = SSQ_POLICY_INIT;
        NEED(ssq_policy_from_name(known[i].name, &p));
        tap_ok(p.compute == known[i].compute && p.variable == SSQ_F32 &&
                   p.scaling == known[i].scaling,
               "%s computes in %s, keeps f32, %s", known[i].name,
               ssq_dtype_name(p.compute), p.scaling ? "scales" : "no scaler");
    }
    ssq_policy p = SSQ_POLICY_INIT;
    core_status(ssq_policy_from_name("mixed_float8", &p), SSQ_ERR_NOT_FOUND,
                "mixed_float8|float32|mixed_float16|mixed_bfloat16",
                "an unknown policy answers with the three");
    core_status(ssq_policy_from_name(NULL, &p), SSQ_ERR_INVALID, "name",
                "no name");
    core_status(ssq_policy_from_name("float32", NULL), SSQ_ERR_INVALID,
                "policy", "no policy");
    p.struct_size = 1;
    core_status(ssq_policy_from_name("float32", &p), SSQ_ERR_INVALID,
                "struct_size is 1", "a policy of another size");
}

/* PyTorch's lists (torch/amp/autocast_mode.py and autocast_mode.h, CUDA). */
static void torch_lists(void)
{
    static const struct {
        const char *op;
        ssq_op_class want;
    } known[] = {
        {"gemm", SSQ_CLASS_HALF},
        {"gemm_batched", SSQ_CLASS_HALF},
        {"conv2d", SSQ_CLASS_HALF},
        {"conv2d_backward_data", SSQ_CLASS_HALF},
        {"attention", SSQ_CLASS_HALF},
        {"softmax", SSQ_CLASS_FLOAT32},
        {"log_softmax_backward", SSQ_CLASS_FLOAT32},
        {"layer_norm", SSQ_CLASS_FLOAT32},
        {"exp", SSQ_CLASS_FLOAT32},
        {"pow", SSQ_CLASS_FLOAT32},
        {"sum", SSQ_CLASS_FLOAT32},
        {"cross_entropy", SSQ_CLASS_FLOAT32},
        {"add", SSQ_CLASS_PROMOTE},
        {"concat", SSQ_CLASS_PROMOTE},
        {"relu", SSQ_CLASS_ANY},
        {"max", SSQ_CLASS_ANY},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        ssq_op_class got = (ssq_op_class)-1;
        ssq_status st = ssq_policy_op_class(known[i].op, &got);
        tap_ok(st == SSQ_OK && got == known[i].want, "%s is of class %s",
               known[i].op, ssq_op_class_name(known[i].want));
    }
    ssq_op_class c = SSQ_CLASS_ANY;
    core_status(ssq_policy_op_class("matmul", &c), SSQ_ERR_NOT_FOUND,
                "\"matmul\"", "an unknown op");
    core_status(ssq_policy_op_class("cumsum", &c), SSQ_ERR_NOT_FOUND,
                "no op \"cumsum\"", "an op of torch's that does not exist");
    core_status(ssq_policy_op_class("soft_max", &c), SSQ_ERR_NOT_FOUND,
                "no op \"soft_max\"; did you mean \"softmax\"?",
                "an op with a typo");
    core_status(ssq_policy_op_class("gelu_bakward", &c), SSQ_ERR_NOT_FOUND,
                "did you mean \"gelu_backward\"?", "a backward with a typo");
    core_status(ssq_policy_op_class("_backward", &c), SSQ_ERR_NOT_FOUND, "",
                "a suffix alone is no op");
    core_status(ssq_policy_op_class("", &c), SSQ_ERR_NOT_FOUND, "",
                "no letters are no op");
    core_status(ssq_policy_op_class(NULL, &c), SSQ_ERR_INVALID, "op", "no op");
    core_status(ssq_policy_op_class("add", NULL), SSQ_ERR_INVALID, "op_class",
                "nowhere to put the class");
    tap_ok(strcmp(ssq_op_class_name((ssq_op_class)4), "invalid") == 0,
           "4 is no class");
}

/* The loss scale in a text, as Keras's Policy(.., loss_scale=..). */
static void loss_scales(void)
{
    static const struct {
        const char *text;
        bool scaling;
        double scale;
    } known[] = {
        {"mixed_float16,loss_scale=512", true, 512.0},
        {"mixed_float16,loss_scale=dynamic", true, 0.0},
        {"mixed_float16,loss_scale=none", false, 0.0},
        {"mixed_float16,loss_scale=1", true, 1.0},
        {"mixed_bfloat16,gelu=float32,loss_scale=2^15", true, 32768.0},
        {"float32,loss_scale=2^-126,add=any", true, 0x1p-126},
        {"mixed_float16,loss_scale=0.1", true, 0.1},
        {"mixed_float16,loss_scale=1.5e3", true, 1500.0},
        {"mixed_float16,loss_scale=.3E-20", true, .3e-20},
        {"mixed_float16,loss_scale=123456789012345", true, 123456789012345.0},
    };
    static const struct {
        const char *value, *text;
    } wrong[] = {
        {"", "loss_scale is \"\""},
        {"0",
         "\"0\" in \"mixed_float16,loss_scale=0\", expected dynamic, none"},
        {"-1", "\"-1\""},
        {"fixed", "\"fixed\""},
        {"512 ", "\"512 \""},
        {"0x200", "\"0x200\""},
        {"inf", "\"inf\""},
        {"nan", "\"nan\""},
        {"1e", "\"1e\""},
        {"1e39", "\"1e39\""},
        {"2^", "\"2^\""},
        {"2^128", "\"2^128\""},
        {"2^-127", "\"2^-127\""},
        {"1234567890123456", "up to 15 digits"},
        {"512=any", "\"512=any\""},
        {"512,loss_scale=512", "has loss_scale twice"},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        ssq_policy p = SSQ_POLICY_INIT;
        NEED(ssq_policy_from_name(known[i].text, &p));
        tap_ok(p.scaling == known[i].scaling && p.loss_scale == known[i].scale,
               "%s: %s, %g", known[i].text, p.scaling ? "scales" : "no scaler",
               p.loss_scale);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ssq_policy p = SSQ_POLICY_INIT;
        char text[96];
        p.loss_scale = 7.0;
        snprintf(text, sizeof(text), "mixed_float16,loss_scale=%s",
                 wrong[i].value);
        core_status(ssq_policy_from_name(text, &p), SSQ_ERR_INVALID,
                    wrong[i].text, "refused: %s", text);
        tap_ok(p.loss_scale == 7.0 && !p.scaling, "and nothing was written");
    }
}

/* Ops that a policy's text moves; an error in one is named. */
static void texts(void)
{
    static const char text[] = "mixed_bfloat16,gelu=float32,conv2d=any,"
                               "gelu=half";
    static const struct {
        const char *policy, *op, *text;
        ssq_status status;
    } wrong[] = {
        {NULL, "add", "policy is NULL", SSQ_ERR_INVALID},
        {"float32", NULL, "op is NULL", SSQ_ERR_INVALID},
        {"float32", "matmul", "no op \"matmul\"", SSQ_ERR_NOT_FOUND},
        {"float31", "add", "no policy \"float31\"", SSQ_ERR_NOT_FOUND},
        {"float32,ad=half", "add", "no op \"ad\"", SSQ_ERR_NOT_FOUND},
        {"float32,add=", "add", "no class \"\"", SSQ_ERR_NOT_FOUND},
        {"float32,=half", "add", "no op \"\"", SSQ_ERR_NOT_FOUND},
        {"float32,,add=half", "add", "has no class", SSQ_ERR_INVALID},
        {"float32,add", "add", "\"add\" has no class", SSQ_ERR_INVALID},
        {"float32,gelu_backward=half", "add", "forward: name \"gelu\"",
         SSQ_ERR_NOT_FOUND},
        {"float32,los_scale=512", "add", "no op \"los_scale\"",
         SSQ_ERR_NOT_FOUND},
        {"float32", "gemm_backward", "no op \"gemm_backward\"",
         SSQ_ERR_NOT_FOUND},
    };
    ssq_policy p = SSQ_POLICY_INIT;
    NEED(ssq_policy_from_name(text, &p));
    ssq_op_class gelu, back, add;
    NEED(ssq_policy_class(text, "gelu", &gelu));
    NEED(ssq_policy_class(text, "conv2d_backward_data", &back));
    NEED(ssq_policy_class(text, "add", &add));
    tap_ok(p.compute == SSQ_BF16 && gelu == SSQ_CLASS_HALF &&
               back == SSQ_CLASS_ANY && add == SSQ_CLASS_PROMOTE,
           "\"%s\": gelu %s, conv2d_backward_data %s, add %s", text,
           ssq_op_class_name(gelu), ssq_op_class_name(back),
           ssq_op_class_name(add));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        core_status(ssq_policy_class(wrong[i].policy, wrong[i].op, &add),
                    wrong[i].status, wrong[i].text, "a class is refused: %s",
                    wrong[i].text);
    core_status(ssq_policy_class("float32", "add", NULL), SSQ_ERR_INVALID,
                "op_class is NULL", "nowhere to put the class of a policy");
    tap_ok(add == SSQ_CLASS_PROMOTE, "and nothing was written");
}

/* Every line once, with a class that has a name. */
static void printable(void)
{
    size_t n = 0, bad = 0;
    for (const char *name; (name = ssq_policy_op_name(n)) != NULL; n++) {
        ssq_op_class c;
        bad += ssq_policy_op_class(name, &c) != SSQ_OK ||
               strcmp(ssq_op_class_name(c), "invalid") == 0;
        for (size_t i = 0; i < n; i++)
            bad += strcmp(name, ssq_policy_op_name(i)) == 0;
    }
    tap_ok(bad == 0 && n > 60, "the table has %zu different lines", n);
}

/* The ops of the headers. */
static char ops[400][48];
static size_t ops_n;

static bool has_op(const char *name)
{
    for (size_t i = 0; i < ops_n; i++)
        if (strcmp(ops[i], name) == 0)
            return true;
    return false;
}

/* Functions of the form "ssq_<op>(ssq_queue *queue, const ssq_<x>_args" in a
 * header's text; returns how many, counts those without a class. */
static size_t functions(char *text, size_t *without)
{
    size_t n = 0;
    for (char *at = text; (at = strstr(at, " ssq_")) != NULL;) {
        char *name = at + 5;
        size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
        char *after = name + length;
        at = after;
        if (*after != '(')
            continue;
        char *arguments = after + 1;
        *after = '\0';
        at = arguments;
        arguments += strspn(arguments, " \n");
        if (strncmp(arguments, "ssq_queue *queue,", 17) != 0)
            continue;
        arguments += 17;
        arguments += strspn(arguments, " \n");
        size_t type = strcspn(arguments, "*,)");
        if (strncmp(arguments, "const ssq_", 10) != 0 || type < 6 ||
            strncmp(arguments + type - 6, "_args ", 6) != 0)
            continue;
        if (strcmp(name, "gemm_explain") == 0)
            continue; /* asks, and computes nothing */
        ssq_op_class c;
        n++;
        if (ops_n < sizeof(ops) / sizeof(ops[0]) && length < sizeof(ops[0]))
            strcpy(ops[ops_n++], name);
        if (ssq_policy_op_class(name, &c) != SSQ_OK) {
            tap_diag("ssq_%s has no class", name);
            ++*without;
        }
    }
    return n;
}

static char *read_text(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (f == NULL || text == NULL)
        tap_bail("%s: cannot read", path);
    (void)!fread(text, 1, (1 << 20) - 1, f);
    fclose(f);
    /* a return type on its own line: the name is at a line's start */
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\n')
            *c = ' ';
    return text;
}

static void headers(void)
{
    const char *srcdir = getenv("srcdir");
    char path[1024];
    size_t n = 0, without = 0;
    snprintf(path, sizeof(path), "%s/include/sesqui/ops",
             srcdir == NULL ? "." : srcdir);
    DIR *dir = opendir(path);
    if (dir == NULL)
        tap_bail("%s: no such directory", path);
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (strstr(e->d_name, ".h") == NULL)
            continue;
        snprintf(path, sizeof(path), "%s/include/sesqui/ops/%s",
                 srcdir == NULL ? "." : srcdir, e->d_name);
        char *text = read_text(path);
        n += functions(text, &without);
        free(text);
    }
    closedir(dir);
    tap_ok(n > 50 && without == 0,
           "all %zu ops of the headers have a class, %zu have none", n,
           without);
}

/* A name has a class where the headers have the function, and nowhere else. */
static void only_ops(void)
{
    static const char *const tails[] = {"",
                                        "_backward",
                                        "_backward_data",
                                        "_backward_weight",
                                        "_backward_bias",
                                        "_backwards"};
    size_t have = 0, bad = 0;
    for (size_t i = 0; ssq_policy_op_name(i) != NULL; i++)
        for (size_t k = 0; k < sizeof(tails) / sizeof(tails[0]); k++) {
            char name[96];
            ssq_op_class c;
            snprintf(name, sizeof(name), "%s%s", ssq_policy_op_name(i),
                     tails[k]);
            bool found = ssq_policy_op_class(name, &c) == SSQ_OK;
            have += found;
            if (found == has_op(name))
                continue;
            tap_diag("%s: %s", name,
                     found ? "has a class, and no function" : "has no class");
            bad++;
        }
    tap_ok(bad == 0 && have == ops_n,
           "%zu names have a class, and are functions of the headers", have);
}

int main(void)
{
    policies();
    torch_lists();
    loss_scales();
    texts();
    printable();
    headers();
    only_ops();
    return tap_done(92);
}
