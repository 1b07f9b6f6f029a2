/* SPDX-License-Identifier: Apache-2.0 */
/* params_names.c - names that are not in a set: may a pass make the parameter,
 * and which one was meant. */
#include "lib/core/object.h"
#include "lib/tape/params.h"
#include "lib/tape/pattern.h"

#include <stdio.h>
#include <string.h>

/* ---- which one was meant ---- */

/* How many characters of one name are added, left out or replaced in the other
 * (Levenshtein); most + 1 if they are more than `most`. */
static size_t distance(const char *a, const char *b, size_t most)
{
    size_t row[SSQ_PARAM_NAME], m = strlen(a), n = strlen(b);
    if (m > n + most || n > m + most)
        return most + 1;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t before = row[0]; /* of the last row, one to the left */
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t replaced = before + (a[i - 1] != b[j - 1]);
            before = row[j];
            size_t other = row[j] < row[j - 1] ? row[j] : row[j - 1];
            row[j] = replaced < other + 1 ? replaced : other + 1;
        }
    }
    return row[n] <= most ? row[n] : most + 1;
}

/* The name that is most like another; NULL: none differs in less than half of
 * its characters. */
static const char *nearest(const ssq_params *params, const char *name)
{
    size_t least = strlen(name) / 2;
    const char *found = NULL;
    if (strlen(name) >= SSQ_PARAM_NAME)
        return NULL;
    for (size_t i = 0; i < params->n && least > 0; i++) {
        size_t d = distance(name, params->at[i].name, least - 1);
        if (d >= least)
            continue;
        least = d;
        found = params->at[i].name;
    }
    return found;
}

ssq_status params_unknown(const ssq_params *params, const char *what,
                          const char *name, const char *more)
{
    const char *meant = nearest(params, name);
    char question[SSQ_PARAM_NAME + 24] = "";
    if (meant != NULL)
        snprintf(question, sizeof(question), "; did you mean \"%s\"?", meant);
    return error_set(SSQ_ERR_NOT_FOUND,
                     "%s: there is no \"%.100s\" among %zu parameters%s%s",
                     what, name, params->n, question, more);
}

/* ---- which ones a pass may make ---- */

ssq_status params_may_make(const ssq_params *params, const char *name,
                           bool training)
{
    char more[160];
    if (training && params->closed == NULL)
        return SSQ_OK;
    if (params->allowed != NULL && pattern_matches(params->allowed, name, NULL))
        return SSQ_OK;
    snprintf(more, sizeof(more),
             "; a pass %s makes no parameters, except those that "
             "ssq_params_allow names",
             training ? params->closed : "for evaluation");
    return params_unknown(params, "var_param", name, more);
}

ssq_status ssq_params_allow(ssq_params *params, const char *pattern)
{
    static const char what[] = "params_allow";
    char *copy = NULL;
    if (params == NULL)
        return error_set(SSQ_ERR_INVALID, "%s: params is NULL", what);
    if (pattern != NULL && (copy = mem_strdup(pattern)) == NULL)
        return error_nomem(what, strlen(pattern) + 1);
    mem_free(params->allowed);
    params->allowed = copy;
    return SSQ_OK;
}
