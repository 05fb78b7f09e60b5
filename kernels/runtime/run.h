// One run of a node: the tensors that it gets, and the tables of its launches.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schedule.h"

namespace ascend_fuse {

// Is used again from run to run, so that a run at the sizes of the one before allocates nothing and makes no
// table anew.
class Run {
  public:
    explicit Run(size_t inputs) : inputs(inputs) {}

    std::vector<Tensor> inputs;  // of the program; host ones are not looked at

    bool fits(const Program& program) const { return schedule_ && fits(program, *schedule_); }
    // Whether the schedule is one for these inputs.
    bool fits(const Program& program, const Schedule& schedule) const {
        for (size_t i = 0; i < inputs.size(); ++i)
            if (!program.inputs[i].host && !(schedule.inputs[i] == inputs[i])) return false;
        return true;
    }
    // Precondition: it fits.
    void use(std::shared_ptr<const Schedule> schedule) {
        schedule_ = std::move(schedule);
        outputs_.assign(schedule_->outputs.size(), nullptr);
        addresses_.assign(schedule_->tensors(), nullptr);
        tables_.clear();
        for (const auto& stage : schedule_->stages) tables_.push_back(stage.table);
    }
    // Precondition of what follows: `use` was called.
    const Schedule& schedule() const { return *schedule_; }
    // Null: it is computed and dropped.
    void set_output(size_t output, void* address) { outputs_[output] = address; }

    std::optional<Error> execute(const Draw& draw, Backend& backend, const Caller& caller, Traffic& traffic) {
        if (schedule_->stages.empty()) return std::nullopt;
        const Caller on{caller.parallel, backend.stream(caller.stream)};
        std::vector<Block> own;  // what lives as long as this run
        if (auto error = place(backend, on.stream, own)) return error;
        if (auto error = backend.begin(caller.stream)) return error;
        for (size_t i = 0; i < tables_.size(); ++i) {
            const Stage& stage = schedule_->stages[i];
            for (size_t k = 0; k < tables_[i].size(); ++k)
                tables_[i][k].address = addresses_[stage.tensors[k]];
            const Draw own_draw{draw.key ^ static_cast<uint64_t>(stage.draw), draw.run};
            if (auto error = stage.launch->run(own_draw, tables_[i], on, traffic)) return error;
        }
        return backend.finish(caller.stream, traffic);
    }

  private:
    std::optional<Error> place(Backend& backend, void* stream, std::vector<Block>& own) {
        size_t at = 0;
        for (const auto& input : inputs) addresses_[at++] = input.address;
        for (size_t i = 0; i < outputs_.size(); ++i, ++at) {
            addresses_[at] = outputs_[i];
            if (outputs_[i]) continue;
            const int64_t bytes = schedule_->outputs[i].bytes();
            if (auto error = reserve(bytes, backend, stream, own, addresses_[at])) return error;
        }
        for (const int64_t bytes : schedule_->reserved)
            if (auto error = reserve(bytes, backend, stream, own, addresses_[at++])) return error;
        return std::nullopt;
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
    std::vector<void*> outputs_;               // as the caller has them
    std::vector<void*> addresses_;             // by number of the tensor
    std::vector<std::vector<Buffer>> tables_;  // by stage
};

}  // namespace ascend_fuse
