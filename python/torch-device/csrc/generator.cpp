// SPDX-License-Identifier: Apache-2.0
/* generator.cpp - random numbers: the library's Philox streams. */
#include "generator.h"

#include <ATen/EmptyTensor.h>
#include <c10/core/GeneratorImpl.h>

#include <cstring>

namespace sesqui_torch
{

namespace
{
struct Generator final : c10::GeneratorImpl {
    explicit Generator(c10::DeviceIndex i)
        : GeneratorImpl(c10::Device(sesqui_torch::device_type, i),
                        c10::DispatchKeySet(c10::DispatchKey::PrivateUse1))
    {
    }
    void set_current_seed(uint64_t seed) override
    {
        words = {seed, 0};
    }
    void set_offset(uint64_t offset) override { words.offset = offset; }
    uint64_t get_offset() const override { return words.offset; }
    uint64_t current_seed() const override { return words.seed; }
    uint64_t seed() override
    {
        set_current_seed(c10::detail::getNonDeterministicRandom());
        return words.seed;
    }
    void set_state(const c10::TensorImpl &state) override
    {
        TORCH_CHECK(state.numel() == sizeof(words) && state.itemsize() == 1,
                    "sesqui: a generator's state is a tensor of ",
                    sizeof(words), " bytes, got ", state.numel());
        std::memcpy(&words, state.data(), sizeof(words));
    }
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override
    {
        at::Tensor state = at::detail::empty_cpu({sizeof(words)}, at::kByte);
        std::memcpy(state.mutable_data_ptr(), &words, sizeof(words));
        return state.getIntrusivePtr();
    }
    Generator *clone_impl() const override
    {
        auto *copy = new Generator(device().index());
        copy->words = words;
        return copy;
    }
    Words words = {c10::default_rng_seed_val, 0};
};
} // namespace

at::Generator generator_create(c10::DeviceIndex i)
{
    return at::make_generator<Generator>(i < 0 ? device_current() : i);
}

const at::Generator &generator_default(c10::DeviceIndex i)
{
    static auto *all = [] {
        auto *made = new std::vector<at::Generator>;
        for (c10::DeviceIndex d = 0; d < device_count(); d++)
            made->push_back(generator_create(d));
        return made;
    }();
    c10::DeviceIndex index = device_at(i).index();
    return (*all)[index];
}

Words generator_take(const std::optional<at::Generator> &generator,
                     c10::Device device, int64_t n)
{
    const at::Generator &g = generator.has_value() && generator->defined()
                                 ? *generator
                                 : generator_default(device.index());
    TORCH_CHECK(g.device().type() == device_type,
                "sesqui: expected a generator of the device, got one of ",
                g.device());
    auto *own = static_cast<Generator *>(g.unsafeGetGeneratorImpl());
    std::lock_guard<std::mutex> lock(own->mutex_);
    Words words = own->words;
    own->words.offset += n;
    return words;
}

} // namespace sesqui_torch
