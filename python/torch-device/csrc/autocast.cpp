// SPDX-License-Identifier: Apache-2.0
/* autocast.cpp - torch.autocast("sesqui"): the lists of ops are those of the
 * PyTorch that this is compiled for.
 *
 * Each list has a function that changes the arguments on the stack, and calls
 * the op again without autocast. */
#include <ATen/autocast_mode.h>
#include <torch/library.h>

#include <string>
#include <vector>

namespace sesqui_torch
{

using at::Tensor;
using c10::IValue;
using torch::jit::Stack;

constexpr c10::DeviceType kind = c10::DeviceType::PrivateUse1;

struct Off {
    c10::impl::ExcludeDispatchKeyGuard guard{
        c10::DispatchKey::AutocastPrivateUse1};
};

static size_t first_of(const c10::OperatorHandle &op, const Stack &stack)
{
    return stack.size() - op.schema().arguments().size();
}

/* Cast the float tensors of the device; other arguments stay as they are. */
static void cast_arguments(const c10::OperatorHandle &op, Stack &stack,
                           at::ScalarType type)
{
    for (size_t i = first_of(op, stack); i < stack.size(); i++) {
        IValue &v = stack[i];
        if (v.isTensor()) {
            v = at::autocast::cached_cast(type, v.toTensor(), kind);
        } else if (v.isTensorList()) {
            c10::List<Tensor> list;
            for (const Tensor &x : v.toTensorVector())
                list.push_back(at::autocast::cached_cast(type, x, kind));
            v = list;
        }
    }
}

static void lower_precision(const c10::OperatorHandle &op, Stack *stack)
{
    Off off;
    cast_arguments(op, *stack, at::autocast::get_autocast_dtype(kind));
    op.callBoxed(stack);
}

static void float32(const c10::OperatorHandle &op, Stack *stack)
{
    Off off;
    cast_arguments(op, *stack, at::kFloat);
    op.callBoxed(stack);
}

static bool first_is_eligible(const c10::OperatorHandle &op,
                              const Stack &stack)
{
    const IValue &v = stack[first_of(op, stack)];
    return v.isTensor() && at::autocast::is_eligible(v.toTensor(), kind);
}

/* Ops with an argument for the dtype of the result: it is float32, unless the
 * program has set it. */
static void float32_result(const c10::OperatorHandle &op, Stack *stack)
{
    Off off;
    if (first_is_eligible(op, *stack)) {
        const auto &arguments = op.schema().arguments();
        size_t first = first_of(op, *stack);
        for (size_t i = 0; i < arguments.size(); i++)
            if (arguments[i].name() == "dtype" && (*stack)[first + i].isNone())
                (*stack)[first + i] = at::kFloat;
    }
    op.callBoxed(stack);
}

/* Ops that have another overload with a dtype as the last argument. */
static void float32_appended(const c10::OperatorHandle &op, Stack *stack)
{
    Off off;
    std::string overload = op.operator_name().overload_name;
    overload = overload == "Scalar" ? "ScalarOpt_dtype" : overload + "_dtype";
    at::ScalarType type =
        first_is_eligible(op, *stack)
            ? at::kFloat
            : (*stack)[first_of(op, *stack)].toTensor().scalar_type();
    auto other = c10::Dispatcher::singleton().findSchemaOrThrow(
        op.operator_name().name.c_str(), overload.c_str());
    stack->emplace_back(type);
    other.callBoxed(stack);
}

/* The widest dtype of the tensors. */
static void promote(const c10::OperatorHandle &op, Stack *stack)
{
    Off off;
    at::ScalarType type = at::autocast::get_autocast_dtype(kind);
    for (size_t i = first_of(op, *stack); i < stack->size(); i++) {
        const IValue &v = (*stack)[i];
        if (v.isTensor())
            type = at::autocast::prioritize(type, v.toTensor(), kind);
        else if (v.isTensorList())
            for (const Tensor &x : v.toTensorVector())
                type = at::autocast::prioritize(type, x, kind);
    }
    cast_arguments(op, *stack, type);
    op.callBoxed(stack);
}

static void banned(const c10::OperatorHandle &op, Stack *)
{
    TORCH_CHECK(false, "torch.nn.functional.binary_cross_entropy and "
                "torch.nn.BCELoss are unsafe to autocast: in float16 the "
                "logarithm of a sigmoid overflows. Use "
                "torch.nn.functional.binary_cross_entropy_with_logits or "
                "torch.nn.BCEWithLogitsLoss, without a sigmoid before it.");
}

#define NAME1(OP)           "aten::" #OP
#define NAME2(OP, OVERLOAD) "aten::" #OP "." #OVERLOAD
#define PICK(A, B, F, ...)  F
#define NAME(...)           PICK(__VA_ARGS__, NAME2, NAME1)(__VA_ARGS__),
#define NAME_OF_PAIR(F, NAME, FROM, TO, POLICY) "aten::" NAME,

static const std::vector<const char *> lower_ops = {
    AT_FORALL_LOWER_PRECISION_FP(NAME)};
static const std::vector<const char *> float32_ops = {AT_FORALL_FP32(NAME)};
static const std::vector<const char *> result_ops = {
    AT_FORALL_FP32_SET_OPT_DTYPE(NAME)};
static const std::vector<const char *> appended_ops = {
    AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(NAME_OF_PAIR)};
static const std::vector<const char *> promote_ops = {AT_FORALL_PROMOTE(NAME)};

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m)
{
    m.fallback(torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m)
{
    using namespace sesqui_torch;
    using torch::CppFunction;
    for (const char *name : lower_ops)
        m.impl(name, CppFunction::makeFromBoxedFunction<&lower_precision>());
    for (const char *name : float32_ops)
        m.impl(name, CppFunction::makeFromBoxedFunction<&float32>());
    for (const char *name : result_ops)
        m.impl(name, CppFunction::makeFromBoxedFunction<&float32_result>());
    for (const char *name : appended_ops)
        m.impl(name, CppFunction::makeFromBoxedFunction<&float32_appended>());
    for (const char *name : promote_ops)
        m.impl(name, CppFunction::makeFromBoxedFunction<&promote>());
    m.impl("aten::binary_cross_entropy",
           CppFunction::makeFromBoxedFunction<&banned>());
}
