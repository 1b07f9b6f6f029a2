/* SPDX-License-Identifier: Apache-2.0 */
/* torch_interop.cc - a network of PyTorch's, in float16, that trains with an
 * optimizer and a loss scaler of sesqui's.
 *
 * PyTorch computes forward and backward; masters in float32, moments, the check
 * of the gradients, clipping, the step and the loss scale are sesqui's, on the
 * same memory and the same stream. Nothing is copied, and in a step nobody
 * waits. The data are made up: which of ten random directions a point lies in.
 */
#include <torch/torch.h>

#include <cstdio>
#include <vector>

#include "lend.hpp"

namespace
{

constexpr int inputs = 64, hidden = 256, classes = 10, batch = 512, steps = 300;

torch::nn::Sequential make_net(torch::Device device)
{
    torch::nn::Sequential net(torch::nn::Linear(inputs, hidden),
                              torch::nn::ReLU(),
                              torch::nn::Linear(hidden, classes));
    net->to(device, torch::kHalf);
    return net;
}

/* What trains the parameters of a network of PyTorch's. */
class trainer
{
  public:
    trainer(int gpu, torch::nn::Sequential &net)
    {
        const std::string name = "cuda:" + std::to_string(gpu);
        ssq_optimizer_options options = SSQ_OPTIMIZER_INIT;
        options.lr = 1e-3;
        options.clip_norm = 1.0;
        /* the primary context, which is PyTorch's as well */
        check(ssq_device_open(name.c_str(), nullptr, device_.out()));
        queue_of_torch(device_.get(), queue_.out());
        check(ssq_scaler_create(device_.get(), "pytorch", nullptr,
                                scaler_.out()));
        check(ssq_optimizer_create(device_.get(), "adamw", &options,
                                   optimizer_.out()));
        for (auto &p : net->named_parameters())
            add(p.key(), p.value());
        const auto f32 = torch::device(torch::Device(torch::kCUDA, gpu));
        one_ = torch::ones({}, f32.dtype(torch::kFloat));
        seed_ = torch::empty_like(one_);
        lent_.emplace_back(device_.get(), one_);
        lent_.emplace_back(device_.get(), seed_);
    }

    void step(const at::Tensor &loss);

    /* Waits. */
    double scale()
    {
        ssq_scaler_state state = SSQ_SCALER_STATE_INIT;
        check(ssq_scaler_state_get(queue_.get(), scaler_.get(), &state));
        return state.scale;
    }

  private:
    void add(const std::string &name, at::Tensor &parameter)
    {
        parameter.mutable_grad() = torch::zeros_like(parameter);
        grads_.push_back(parameter.grad());
        lent_.emplace_back(device_.get(), parameter);
        lent_.emplace_back(device_.get(), parameter.grad());
        const size_t n = lent_.size();
        check(ssq_optimizer_add(optimizer_.get(), name.c_str(),
                                lent_[n - 2].get(), lent_[n - 1].get(),
                                nullptr));
    }

    owned<ssq_device, ssq_device_close> device_;
    owned<ssq_queue, ssq_queue_destroy> queue_;
    owned<ssq_scaler, ssq_scaler_destroy> scaler_;
    owned<ssq_optimizer, ssq_optimizer_destroy> optimizer_;
    std::vector<at::Tensor> grads_;
    at::Tensor one_, seed_; /* of the loss: 1, and the scale */
    std::vector<lent> lent_;
};

/* Gradients stay where they are, since the optimizer knows their memory:
 * they are zeroed, and not dropped. */
void trainer::step(const at::Tensor &loss)
{
    for (auto &grad : grads_)
        grad.zero_();
    const size_t n = lent_.size();
    check(ssq_scaler_scale_grad(queue_.get(), scaler_.get(), lent_[n - 2].get(),
                                lent_[n - 1].get()));
    loss.backward(seed_);
    check(ssq_optimizer_step(queue_.get(), optimizer_.get(), scaler_.get()));
    check(ssq_scaler_update(queue_.get(), scaler_.get()));
}

int train()
{
    const int gpu = c10::cuda::current_device();
    const torch::Device device(torch::kCUDA,
                               static_cast<torch::DeviceIndex>(gpu));
    torch::manual_seed(1);
    auto net = make_net(device);
    const auto directions = torch::randn({inputs, classes}, device);
    trainer trained(gpu, net);
    float first = 0.0f, last = 0.0f;

    for (int i = 0; i < steps; i++) {
        const auto x = torch::randn({batch, inputs}, device);
        const auto target = x.matmul(directions).argmax(1);
        const auto logits = net->forward(x.to(torch::kHalf));
        const auto loss = torch::nn::functional::cross_entropy(
            logits.to(torch::kFloat), target);
        trained.step(loss);
        if (i % 50 == 0 || i == steps - 1) {
            last = loss.item<float>();
            first = i == 0 ? last : first;
            std::printf("step %3d  loss %.4f  scale %g\n", i,
                        static_cast<double>(last), trained.scale());
        }
    }
    return last < 0.5f * first ? 0 : 1;
}

} // namespace

int main()
{
    if (!torch::cuda::is_available()) {
        std::fprintf(stderr, "PyTorch finds no GPU of NVIDIA's\n");
        return 77;
    }
    try {
        return train();
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
