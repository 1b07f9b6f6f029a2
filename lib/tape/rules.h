/* SPDX-License-Identifier: Apache-2.0 */
/* rules.h - shapes of results: the rules that vars.list names after a colon. */
#ifndef LIB_TAPE_RULES_H
#define LIB_TAPE_RULES_H

#include "lib/core/core.h"
#include "lib/tape/ops.h"

rule_fn rule_like, rule_broadcast, rule_where, rule_reduce, rule_gemm,
    rule_gemm_batched, rule_loss, rule_class_loss, rule_rows, rule_channels,
    rule_groups, rule_conv, rule_conv_transpose, rule_pool, rule_argmax,
    rule_global_pool, rule_gather, rule_attention, rule_lse, rule_steps,
    rule_state, rule_cell, rule_lstm_reserve, rule_gru_reserve;

#endif
