/* SPDX-License-Identifier: Apache-2.0 */
/* schedule.c - schedules against values of the systems they are named after.
 *
 * The numbers were computed by the systems' own expressions in binary64
 * (torch/optim/lr_scheduler.py: OneCycleLR, StepLR in steps, CosineAnnealingLR
 * by its recursion; fastai/callback/schedule.py: combined_cos). */
#include "tests/amp/amp.h"

struct schedule_point {
    uint32_t t;
    double value;
};

/* Equal as float32, give or take one unit. */
static bool close_f32(double got, double want)
{
    float w = (float)want;
    return (float)got >= nextafterf(w, -INFINITY) &&
           (float)got <= nextafterf(w, INFINITY);
}

static void points(const ssq_schedule *s, const struct schedule_point *p,
                   size_t n, const char *what)
{
    size_t right = 0;
    for (size_t i = 0; i < n; i++) {
        double value = NAN;
        NEED(ssq_schedule_value(s, p[i].t, &value));
        right += close_f32(value, p[i].value);
        if (!close_f32(value, p[i].value))
            tap_diag("step %u: %.17g, expected %.17g", (unsigned)p[i].t, value,
                     p[i].value);
    }
    tap_ok(right == n, "%s: %zu values", what, n);
}
#define POINTS(S, P, WHAT) points(S, P, sizeof(P) / sizeof((P)[0]), WHAT)

static ssq_schedule one_cycle(double base, uint32_t total, double pct,
                              double div, double final_div, bool linear)
{
    ssq_schedule s = SSQ_SCHEDULE_INIT;
    s.kind = SSQ_SCHEDULE_ONE_CYCLE;
    s.base = base;
    s.total_steps = total;
    s.pct_start = pct;
    s.div_factor = div;
    s.final_div_factor = final_div;
    s.linear = linear;
    return s;
}

static void torch_one_cycle(void)
{
    static const struct schedule_point cosine100[] = {
        {0, 0.0003999999999999993},
        {1, 0.00042813780565907275},
        {15, 0.005459866761210004},
        {29, 0.01},
        {30, 0.009994965352845242},
        {50, 0.00793893450575732},
        {98, 5.07464715475788e-06},
        {99, 4e-08},
        {100, 4e-08},
        {UINT32_MAX, 4e-08}};
    static const struct schedule_point linear100[] = {
        {0, 0.0004},  {1, 0.0007310344827586207}, {15, 0.005365517241379312},
        {29, 0.01},   {30, 0.009857142857142857}, {50, 0.007000012},
        {99, 4.0e-08}};
    static const struct schedule_point cosine10[] = {{0, 0.01},
                                                     {1, 0.055},
                                                     {2, 0.1},
                                                     {3, 0.09504893855078145},
                                                     {4, 0.0811763726439274},
                                                     {5, 0.061129934093145946},
                                                     {6, 0.03888006590685407},
                                                     {7, 0.01883362735607262},
                                                     {8, 0.00496106144921856},
                                                     {9, 1e-05}};
    static const struct schedule_point cosine7[] = {{0, 0.04},
                                                    {1, 0.3716718427000253},
                                                    {2, 0.9083281572999747},
                                                    {3, 0.9504846320134737},
                                                    {4, 0.6112620219362893},
                                                    {5, 0.18825834605023697},
                                                    {6, 4e-06}};
    ssq_schedule s = one_cycle(0.01, 100, 0.3, 25, 1e4, false);
    POINTS(&s, cosine100, "torch OneCycleLR 0.01, 100 steps, cosine");
    s.linear = true;
    POINTS(&s, linear100, "torch OneCycleLR 0.01, 100 steps, linear");
    s = one_cycle(0.1, 10, 0.3, 10, 1e3, false);
    POINTS(&s, cosine10, "torch OneCycleLR 0.1, 10 steps");
    s = one_cycle(1.0, 7, 0.5, 25, 1e4, false);
    POINTS(&s, cosine7,
           "torch OneCycleLR 1, 7 steps: the top lies between two");
}

/* Where torch divides by zero, and phases without a step. */
static void one_cycle_ends(void)
{
    static const struct schedule_point top[] = {{0, 1.0}, {9, 4e-06}};
    static const struct schedule_point last[] = {{0, 0.04}, {9, 1.0}};
    static const struct schedule_point single[] = {{0, 4e-06}, {5, 4e-06}};
    ssq_schedule s = one_cycle(1.0, 10, 0.1, 25, 1e4, false);
    POINTS(&s, top, "one-cycle whose rise has no length starts at the top");
    s = one_cycle(1.0, 10, 1.0, 25, 1e4, false);
    POINTS(&s, last, "one-cycle without a fall ends at the top");
    s = one_cycle(1.0, 1, 0.3, 25, 1e4, false);
    POINTS(&s, single, "one-cycle of one step is at its end");
    /* momentum: 0.95 to 0.85 and back */
    static const struct schedule_point momentum[] = {
        {0, 0.95}, {29, 0.85}, {99, 0.95}};
    s = one_cycle(0.85, 100, 0.3, 0.85 / 0.95, 1.0, false);
    POINTS(&s, momentum, "one-cycle of momentum");
}

static void fastai_one_cycle(void)
{
    static const struct schedule_point want[] = {{0, 0.00012},
                                                 {1, 0.00013135483010715202},
                                                 {24, 0.002988645169892848},
                                                 {25, 0.003},
                                                 {26, 0.002998684258305836},
                                                 {50, 0.0022500075},
                                                 {99, 1.3457416941638038e-06}};
    ssq_schedule s = SSQ_SCHEDULE_INIT;
    s.kind = SSQ_SCHEDULE_ONE_CYCLE_FASTAI;
    s.base = 0.003;
    s.total_steps = 100;
    s.pct_start = 0.25;
    s.final_div_factor = 1e5;
    POINTS(&s, want, "fastai fit_one_cycle 0.003, 100 steps");
    static const struct schedule_point fall[] = {{0, 0.003}};
    s.pct_start = 0.0;
    POINTS(&s, fall, "fastai fit_one_cycle without a rise");
    static const struct schedule_point rise[] = {{0, 0.00012}};
    s.pct_start = 1.0;
    POINTS(&s, rise, "fastai fit_one_cycle without a fall");
}

static void others(void)
{
    static const struct schedule_point cosine[] = {
        {0, 0.01},
        {1, 0.028},
        {4, 0.082},
        {5, 0.1},
        {6, 0.09997557473810371},
        {20, 0.0946048229473242},
        {54, 0.05205483257436733},
        {55, 0.0505},
        {90, 0.006395177052675786},
        {104, 0.0010244252618962857}};
    ssq_schedule s = SSQ_SCHEDULE_INIT;
    s.kind = SSQ_SCHEDULE_COSINE;
    s.base = 0.1;
    s.total_steps = 105;
    s.warmup_steps = 5;
    s.warmup_start = 0.1;
    s.min_value = 0.001;
    POINTS(&s, cosine, "warm-up of 5, then a cosine of 100");
    static const struct schedule_point warm[] = {
        {0, 0.01}, {104, 0.1 * (0.1 + 0.9 * 104 / 105)}};
    s.warmup_steps = 105;
    POINTS(&s, warm, "nothing but warm-up");
    static const struct schedule_point step[] = {
        {0, 0.5},   {3, 0.5},    {4, 0.05},  {7, 0.05},
        {8, 0.005}, {11, 0.005}, {12, 5e-4}, {999, 5e-4}};
    ssq_schedule t = SSQ_SCHEDULE_INIT;
    t.kind = SSQ_SCHEDULE_STEP;
    t.base = 0.5;
    t.step_size = 4;
    t.total_steps = 14;
    POINTS(&t, step, "torch StepLR 0.5, every 4 steps");
    static const struct schedule_point constant[] = {{0, 1e-3}, {7, 1e-3}};
    ssq_schedule c = SSQ_SCHEDULE_INIT;
    POINTS(&c, constant, "constant, as SSQ_SCHEDULE_INIT is");
    static const double table[] = {3.0, -1.0, 0.25};
    static const struct schedule_point rows[] = {
        {0, 3.0}, {1, -1.0}, {2, 0.25}, {3, 0.25}};
    c.kind = SSQ_SCHEDULE_TABLE;
    c.total_steps = 3;
    c.table = table;
    POINTS(&c, rows, "a table of 3");
}

static void refused(void)
{
    static const double table[] = {1.0, (double)NAN};
    ssq_schedule s;
    double v = 7.0;
#define REFUSED(KIND, FIELD, VALUE, TEXT)                                      \
    s = (ssq_schedule)SSQ_SCHEDULE_INIT;                                       \
    s.kind = KIND;                                                             \
    s.total_steps = 10;                                                        \
    s.FIELD = VALUE;                                                           \
    core_status(ssq_schedule_value(&s, 0, &v), SSQ_ERR_INVALID, TEXT,          \
                "%s of %s is refused", #FIELD, #VALUE)
    REFUSED(SSQ_SCHEDULE_CONSTANT, struct_size, 3, "struct_size is 3");
    REFUSED((ssq_schedule_kind)9, base, 1.0, "kind is 9");
    REFUSED(SSQ_SCHEDULE_CONSTANT, base, -1.0, "base is -1");
    REFUSED(SSQ_SCHEDULE_CONSTANT, base, (double)NAN, "base is");
    REFUSED(SSQ_SCHEDULE_CONSTANT, total_steps, 0, "total_steps is 0");
    REFUSED(SSQ_SCHEDULE_STEP, step_size, 0, "step_size is 0");
    REFUSED(SSQ_SCHEDULE_STEP, gamma, -0.5, "gamma is -0.5");
    REFUSED(SSQ_SCHEDULE_COSINE, warmup_steps, 11, "warmup_steps is 11");
    REFUSED(SSQ_SCHEDULE_COSINE, warmup_start, -1.0, "warmup_start is -1");
    REFUSED(SSQ_SCHEDULE_COSINE, min_value, -1.0, "min_value is -1");
    REFUSED(SSQ_SCHEDULE_ONE_CYCLE, pct_start, 1.5, "pct_start is 1.5");
    REFUSED(SSQ_SCHEDULE_ONE_CYCLE, div_factor, 0.0, "div_factor is 0");
    REFUSED(SSQ_SCHEDULE_ONE_CYCLE_FASTAI, final_div_factor, -1.0,
            "final_div_factor is -1");
    REFUSED(SSQ_SCHEDULE_TABLE, table, NULL, "table is NULL");
    s.table = table;
    s.total_steps = 2;
    core_status(ssq_schedule_value(&s, 0, &v), SSQ_ERR_INVALID, "table[1]",
                "a table with a NaN is refused");
    core_status(ssq_schedule_value(NULL, 0, &v), SSQ_ERR_INVALID, "schedule",
                "no schedule");
    core_status(ssq_schedule_value(&s, 0, NULL), SSQ_ERR_INVALID, "value",
                "nowhere to put the value");
    tap_ok(v == 7.0, "refused calls write nothing");
#undef REFUSED
}

int main(void)
{
    torch_one_cycle();
    one_cycle_ends();
    fastai_one_cycle();
    others();
    refused();
    return tap_done(34);
}
