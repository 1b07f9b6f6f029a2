// SPDX-License-Identifier: Apache-2.0
/* call.h - ops of PyTorch as functions over their arguments.
 *
 * A function receives the arguments of one call. It writes or returns the
 * results and returns true, or returns false: then the op runs on the CPU, and
 * is counted. It must not have written anything in that case.
 *
 *     static bool relu(Call &c) { .. c.result(y); return true; }
 *     OPS(m) { op(m, "relu", relu); }
 *
 * Arguments are numbered as in native_functions.yaml, from 0. */
#ifndef SESQUI_TORCH_CALL_H
#define SESQUI_TORCH_CALL_H

#include "copy.h"
#include "tensor.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <functional>
#include <map>

namespace torch
{
class Library;
}

namespace sesqui_torch
{

class Call final : public Context
{
  public:
    Call(const c10::OperatorHandle &op, torch::jit::Stack &stack, bool mixed);

    /* The current queue of the device of the tensors, which is locked. */
    ssq_queue *queue() const { return lane_->queue; }
    c10::Device device() const { return device_; }

    size_t size() const { return n_; }
    const c10::IValue &at(size_t i) const { return args_[i]; }
    bool none(size_t i) const
    {
        const c10::IValue &v = args_[i];
        return v.isNone() || (v.isTensor() && !v.toTensor().defined());
    }
    const Tensor &tensor(size_t i) const { return args_[i].toTensor(); }
    /* Undefined if there is none. */
    Tensor maybe(size_t i) const
    {
        return none(i) ? Tensor() : args_[i].toTensor();
    }
    std::vector<Tensor> tensors(size_t i) const
    {
        return args_[i].toTensorVector();
    }
    at::Scalar scalar(size_t i) const { return args_[i].toScalar(); }
    double number(size_t i) const { return scalar(i).toDouble(); }
    int64_t integer(size_t i) const { return args_[i].toInt(); }
    bool flag(size_t i) const { return args_[i].toBool(); }
    std::vector<int64_t> list(size_t i) const { return args_[i].toIntVector(); }
    std::string text(size_t i) const
    {
        return std::string(args_[i].toStringRef());
    }
    std::optional<at::ScalarType> dtype(size_t i) const
    {
        return none(i) ? std::nullopt
                       : std::make_optional(args_[i].toScalarType());
    }

    /* The tensor of an out argument, with these sizes. */
    const Tensor &out(size_t i, Ints sizes);

    /* Replace the arguments on the stack by results. */
    void result(Tensor y);
    void value(c10::IValue v);
    void values(torch::jit::Stack vs);
    void results(std::initializer_list<Tensor> ys);
    /* The results are arguments of the call. */
    void result_of(std::initializer_list<size_t> arguments);

    const std::string &name() const;
    std::string describe() const override;
    bool can_fall_back() const override { return true; }

  private:
    void device_find(bool mixed);
    void device_add(const Tensor &x, bool mixed, const Tensor **scalar);

    const c10::OperatorHandle &op_;
    torch::jit::Stack &stack_;
    size_t n_;
    const c10::IValue *args_;
    c10::Device device_{device_type, -1};
    std::optional<Lane> lane_;
};

/* "aten::mm(self Float [2, 3], ...)", of the arguments on the stack. */
std::string call_describe(const c10::OperatorHandle &op,
                          const torch::jit::Stack &stack);

using Body = std::function<bool(Call &)>;

/* Register an op of aten. If `mixed`, its tensors may be on several devices. */
void op(torch::Library &m, const char *name, Body body, bool mixed = false);

/* Names of the ops that were registered. */
const std::vector<std::string> &native_ops();

/* Run an op on the CPU, and count it. */
void fallback(const c10::OperatorHandle &op, c10::DispatchKeySet,
              torch::jit::Stack *stack);
void fallback_count(const std::string &name);
std::map<std::string, int64_t> fallback_counts();
void fallback_reset();

} // namespace sesqui_torch

#endif
