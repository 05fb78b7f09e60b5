// What a node runs for tensors of given sizes: one launch, or one for each of its instructions where the
// engine, asked again for the real sizes on the real chip, says that fusing does not pay or that nothing
// fits.
#pragma once

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend.h"
#include "binding.h"
#include "engine.h"
#include "lower.h"
#include "steps.h"

namespace ascend_fuse {

// Tensors of a node are numbered: its inputs, its outputs, temporaries, workspaces.
struct Stage {
    std::shared_ptr<PreparedLaunch> launch;
    std::vector<size_t> tensors;  // the launch's inputs, outputs and workspace; empty: all, as numbered
    int draw = 0;                 // draws of the node's program before this one
};

struct Schedule {
    std::vector<Form> inputs, outputs;
    std::vector<int64_t> reserved;  // bytes of each temporary and workspace
    std::vector<Stage> stages;
    bool fused = false;
    bool draws = false;                          // whether another run is another result
    std::shared_ptr<const std::string> verdict;  // what the engine said

    size_t tensors() const { return inputs.size() + outputs.size() + reserved.size(); }
};

// What decides a schedule beside the program and the sizes.
struct Target {
    Soc soc;
    Bounds bounds;
    bool fuse = true;
};

struct Answer {
    bool fuse = false;
    std::string text;
};

template <class AnyVerdict>
Result<Answer> answer_of(const Result<AnyVerdict>& verdict) {
    if (!verdict) return verdict.error();
    return Answer{verdict->fuse, (verdict->fuse ? "fuse: " : verdict->code + ": ") + verdict->message};
}

// The engine's verdict on the program against its own instructions, each a launch.
inline Result<Answer> ask(const Program& program, const std::vector<int64_t>& sizes,
                          const std::vector<StepProgram>& steps, const Target& target) {
    if (!target.fuse) return Answer{false, "not fused: as the options or the node want it"};
    if (steps.size() == 1) return Answer{true, "fuse: a single instruction"};
    std::vector<Part> parts;
    for (const auto& step : steps) parts.push_back(Part{&step.program, sizes});
    const Part whole{&program, sizes};
    return program.family == Family::matmul ? answer_of(judge_gemm(whole, parts, target.soc, target.bounds))
                                            : answer_of(judge(whole, parts, target.soc, target.bounds));
}

inline int64_t elements_of(const std::vector<Form>& forms) {
    int64_t total = 0;
    for (const auto& form : forms) total += form.at(nullptr).elements();
    return total;
}

class Scheduler {
  public:
    // `sizes` by symbol, 0 allowed; `inputs` of the node.
    Scheduler(const Program& program, std::vector<int64_t> sizes, std::vector<Form> inputs,
              const Target& target, Backend& backend)
        : program_(without_empty_pasts(program, sizes)),
          sizes_(std::move(sizes)),
          target_(target),
          backend_(backend) {
        made_.inputs = std::move(inputs);
        made_.outputs = output_forms(program, sizes_);
    }

    Result<Schedule> make() {
        if (elements_of(made_.outputs) == 0) return done("nothing to compute");
        if (auto error = fill_unused()) return *error;
        const auto steps = steps_of(program_);
        const auto answer = ask(program_, sizes_, steps, target_);
        if (!answer) return answer.error();
        auto launch = answer->fuse ? lower(program_, sizes_, target_.soc, target_.bounds) : Error{};
        made_.fused = bool(launch);
        const std::string verdict = answer->fuse && !launch ? launch.error().text() : answer->text;
        if (auto error = launch ? add_whole(std::move(*launch)) : add_steps(steps)) return *error;
        return done(verdict);
    }

  private:
    Schedule done(std::string verdict) {
        made_.verdict = std::make_shared<const std::string>(std::move(verdict));
        return std::move(made_);
    }

    // Axes that only an empty past had are 1 for the engine, which has no empty ones.
    std::optional<Error> fill_unused() {
        for (size_t i = 0; i < sizes_.size(); ++i) {
            if (sizes_[i] > 0) continue;
            if (const auto input = input_with(static_cast<int>(i))) return reduces_nothing(i, *input);
            sizes_[i] = 1;
        }
        return std::nullopt;
    }

    std::optional<size_t> input_with(int symbol) const {
        for (size_t i = 0; i < program_.inputs.size(); ++i) {
            if (program_.inputs[i].host) continue;
            for (const auto& dim : factors(input_shape(program_, i)))
                if (dim.symbol == symbol) return i;
        }
        return std::nullopt;
    }

    Error reduces_nothing(size_t symbol, size_t input) const {
        const Form& form = made_.inputs[input];
        return Error{0, "input " + program_.values[input].name + " is " + std::string(name(form.dtype)) +
                            text(form.sizes.data(), form.sizes.size()) + " where the program reduces d" +
                            std::to_string(symbol) + ", and no kernel reduces an axis of size 0"};
    }

    size_t reserve(int64_t bytes) {
        made_.reserved.push_back(bytes);
        return made_.tensors() - 1;
    }

    // Of a tensor by number; kernels do not read host inputs.
    int64_t bytes_of(size_t tensor) const {
        const size_t inputs = made_.inputs.size(), outputs = made_.outputs.size();
        if (tensor < inputs) return program_.inputs[tensor].host ? 0 : made_.inputs[tensor].bytes();
        tensor -= inputs;
        return tensor < outputs ? made_.outputs[tensor].bytes() : made_.reserved[tensor - outputs];
    }

    // `draw`: draws of the node's program before this one.
    std::optional<Error> add(Launch launch, int draw, const std::vector<size_t>& reads,
                             const std::vector<size_t>& writes) {
        Stage stage;
        std::vector<TensorAccess> accesses;
        const auto append = [&](size_t tensor, int64_t bytes, bool writable) {
            stage.tensors.push_back(tensor);
            accesses.push_back({bytes, writable});
        };
        for (const size_t tensor : reads) append(tensor, bytes_of(tensor), false);
        for (const size_t tensor : writes) append(tensor, bytes_of(tensor), true);
        if (launch.workspace_bytes > 0)
            append(workspace(launch.workspace_bytes), launch.workspace_bytes, true);
        stage.draw = draw;
        made_.draws = made_.draws || draws(launch);
        auto prepared = backend_.prepare(std::move(launch), std::move(accesses), target_.soc);
        if (!prepared) return prepared.error();
        stage.launch = std::move(*prepared);
        made_.stages.push_back(std::move(stage));
        return std::nullopt;
    }

    // One for all launches, as large as the largest wants it.
    size_t workspace(int64_t bytes) {
        if (!workspace_) workspace_ = reserve(0);
        int64_t& most = made_.reserved[*workspace_ - made_.inputs.size() - made_.outputs.size()];
        most = std::max(most, bytes);
        return *workspace_;
    }

    std::optional<Error> add_whole(Launch launch) {
        std::vector<size_t> reads(program_.inputs.size()), writes(program_.outputs.size());
        std::iota(reads.begin(), reads.end(), size_t{0});
        std::iota(writes.begin(), writes.end(), reads.size());
        if (auto error = add(std::move(launch), 0, reads, writes)) return error;
        made_.stages.back().tensors.clear();
        return std::nullopt;
    }

    std::optional<Error> add_steps(const std::vector<StepProgram>& steps) {
        std::vector<size_t> at(program_.values.size());  // by value: the tensor that holds it
        for (size_t i = 0; i < program_.inputs.size(); ++i) at[i] = i;
        for (const auto& step : steps) {
            const auto forms = output_forms(step.program, sizes_);
            std::vector<size_t> reads, writes;
            for (const int value : step.inputs) reads.push_back(at[static_cast<size_t>(value)]);
            for (size_t k = 0; k < step.outputs.size(); ++k) {
                const StepOutput& output = step.outputs[k];
                const size_t tensor = output.output < 0
                                          ? reserve(forms[k].bytes())
                                          : program_.inputs.size() + static_cast<size_t>(output.output);
                if (output.value >= 0) at[static_cast<size_t>(output.value)] = tensor;
                writes.push_back(tensor);
            }
            auto launch = lower(step.program, sizes_, target_.soc, target_.bounds);
            if (!launch) return launch.error();
            if (auto error = add(std::move(*launch), step.draw, reads, writes)) return error;
        }
        return std::nullopt;
    }

    const Program program_;
    std::vector<int64_t> sizes_;
    const Target& target_;
    Backend& backend_;
    Schedule made_;
    std::optional<size_t> workspace_;
};

inline Result<Schedule> make_schedule(const Program& program, const std::vector<Tensor>& inputs,
                                      const Target& target, Backend& backend) {
    auto sizes = bind_known(program, inputs);
    if (!sizes) return sizes.error();
    std::vector<Form> forms;
    for (const auto& tensor : inputs)
        forms.push_back(Form{tensor.dtype, std::vector<int64_t>(tensor.sizes, tensor.sizes + tensor.rank)});
    return Scheduler(program, std::move(*sizes), std::move(forms), target, backend).make();
}

// Why the program cannot run on the chip at these sizes, neither fused nor step by step; else nothing.
inline std::optional<Error> unrunnable(const Program& program, const std::vector<int64_t>& sizes,
                                       const Target& target) {
    const auto fused = lower(program, sizes, target.soc, target.bounds);
    if (fused) return std::nullopt;
    for (const auto& step : steps_of(program))
        if (!lower(step.program, sizes, target.soc, target.bounds)) return fused.error();
    return std::nullopt;
}

}  // namespace ascend_fuse
