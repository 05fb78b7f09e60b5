// One run of a node: the tensors that it gets, and the tables of its launches.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schedule.h"

namespace ascend_fuse {

// Is used again from run to run, so that a run at the sizes of the one before allocates nothing.
class Run {
  public:
    explicit Run(size_t inputs) : inputs(inputs) {}

    std::vector<Tensor> inputs;  // of the program

    bool fits() const { return schedule_ && fits(*schedule_); }
    // Whether the schedule is one for these inputs.
    bool fits(const Schedule& schedule) const {
        return std::equal(schedule.inputs.begin(), schedule.inputs.end(), inputs.begin());
    }
    // Precondition: it fits.
    void use(std::shared_ptr<const Schedule> schedule) {
        schedule_ = std::move(schedule);
        addresses_.assign(schedule_->tensors(), nullptr);
    }
    // Precondition of what follows: `use` was called.
    const Schedule& schedule() const { return *schedule_; }
    // Null: it is computed and dropped.
    void set_output(size_t output, void* address) { addresses_[inputs.size() + output] = address; }

    std::optional<Error> execute(const Draw& draw, Backend& backend, const Caller& caller, Traffic& traffic) {
        if (schedule_->stages.empty()) return std::nullopt;
        const Caller on{caller.parallel, backend.stream(caller.stream)};
        std::vector<Block> own;  // what lives as long as this run
        if (auto error = place(backend, on.stream, own)) return error;
        if (auto error = backend.begin(caller.stream)) return error;
        for (const Stage& stage : schedule_->stages) {
            const Draw own_draw{draw.key ^ static_cast<uint64_t>(stage.draw), draw.run};
            if (auto error = stage.launch->run(own_draw, table_of(stage), on, traffic)) return error;
        }
        return backend.finish(caller.stream);
    }

  private:
    std::optional<Error> place(Backend& backend, void* stream, std::vector<Block>& own) {
        size_t at = 0;
        for (const auto& input : inputs) addresses_[at++] = input.address;
        for (const auto& output : schedule_->outputs) {
            void*& address = addresses_[at++];
            if (address) continue;
            if (auto error = reserve(output.bytes(), backend, stream, own, address)) return error;
        }
        for (const int64_t bytes : schedule_->reserved)
            if (auto error = reserve(bytes, backend, stream, own, addresses_[at++])) return error;
        return std::nullopt;
    }

    void* const* table_of(const Stage& stage) {
        if (stage.tensors.empty()) return addresses_.data();
        table_.clear();
        for (const size_t tensor : stage.tensors) table_.push_back(addresses_[tensor]);
        return table_.data();
    }

    static std::optional<Error> reserve(int64_t bytes, Backend& backend, void* stream,
                                        std::vector<Block>& own, void*& address) {
        address = nullptr;
        if (bytes == 0) return std::nullopt;
        own.emplace_back(backend, bytes, stream);
        address = own.back().address();
        if (!address) return Error{0, "no memory is left for " + std::to_string(bytes) + " B"};
        return std::nullopt;
    }

    std::shared_ptr<const Schedule> schedule_;
    std::vector<void*> addresses_;  // by number of the tensor
    std::vector<void*> table_;      // of a stage that takes some of them
};

}  // namespace ascend_fuse
