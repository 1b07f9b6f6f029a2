// SPDX-License-Identifier: Apache-2.0
/* fallback.cpp - ops that run on the CPU: copies of all tensors, and back. */
#include "call.h"

#include <ATen/Generator.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

#include "generator.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace sesqui_torch
{

static std::mutex counts_mutex;

static std::map<std::string, int64_t> &counts()
{
    static auto *made = new std::map<std::string, int64_t>;
    return *made;
}

/* SESQUI_TORCH_VERBOSE is a list of topics; "fallback" is the only one. */
static bool verbose()
{
    static const bool on = [] {
        const char *v = std::getenv("SESQUI_TORCH_VERBOSE");
        return v != nullptr && std::strstr(v, "fallback") != nullptr;
    }();
    return on;
}

void fallback_count(const std::string &name)
{
    std::lock_guard<std::mutex> lock(counts_mutex);
    if (counts()[name]++ == 0 && verbose())
        std::fprintf(stderr, "sesqui: on the CPU: %s\n", name.c_str());
}

std::map<std::string, int64_t> fallback_counts()
{
    std::lock_guard<std::mutex> lock(counts_mutex);
    return counts();
}

void fallback_reset()
{
    std::lock_guard<std::mutex> lock(counts_mutex);
    counts().clear();
}

/* Generators of the device become ones of the CPU, which they seed. */
static void generators_replace(const c10::OperatorHandle &op,
                               torch::jit::Stack &stack)
{
    const auto &arguments = op.schema().arguments();
    size_t n = arguments.size();
    for (size_t i = 0; i < n; i++) {
        c10::IValue &v = stack[stack.size() - n + i];
        bool takes = arguments[i].name() == "generator";
        if (!v.isGenerator() && !(takes && v.isNone()))
            continue;
        std::optional<at::Generator> given;
        if (v.isGenerator()) {
            given = v.toGenerator();
            if (given->device().type() != device_type)
                continue;
        }
        Words words = generator_take(given, c10::Device(device_type, -1), 2);
        at::Generator cpu = at::make_generator<at::CPUGeneratorImpl>(
            words.seed + 0x9E3779B97F4A7C15u * (words.offset + 1));
        v = c10::IValue(cpu);
    }
}

/* The gradients of these ops depend on whether A is contiguous. A copy on the
 * CPU is, if A has gaps: then A becomes a transposed matrix without gaps. */
static void layout_keep(const c10::OperatorHandle &op,
                        torch::jit::Stack &stack)
{
    const std::string &name = op.schema().name();
    if (name != "aten::_linalg_det" && name != "aten::_linalg_slogdet")
        return;
    c10::IValue &v = stack[stack.size() - op.schema().arguments().size()];
    if (v.isTensor() && !v.toTensor().is_contiguous())
        v = v.toTensor().mT().contiguous().mT();
}

void fallback(const c10::OperatorHandle &op, c10::DispatchKeySet,
              torch::jit::Stack *stack)
{
    layout_keep(op, *stack);
    fallback_count(c10::toString(op.operator_name()));
    generators_replace(op, *stack);
    std::string described = call_describe(op, *stack);
    try {
        at::native::cpu_fallback(op, stack);
    } catch (c10::Error &error) {
        error.add_context("sesqui: " + described + ", on the CPU");
        throw;
    }
}

} // namespace sesqui_torch

TORCH_LIBRARY_IMPL(_, PrivateUse1, m)
{
    m.fallback(
        torch::CppFunction::makeFromBoxedFunction<&sesqui_torch::fallback>());
}
