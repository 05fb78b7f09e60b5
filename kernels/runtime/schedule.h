// What a node runs for tensors of given sizes: one launch, or one for each of its instructions where the
// engine, asked again for the real sizes on the real chip, says that fusing does not pay or that nothing
// fits.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend.h"
#include "binding.h"
#include "engine.h"
#include "lower.h"
#include "steps.h"

namespace ascend_fuse {

// Tensors of a node are numbered: its inputs, its outputs, temporaries.
struct Stage {
    std::shared_ptr<PreparedLaunch> launch;
    std::vector<size_t> reads;   // the launch's inputs
    std::vector<size_t> writes;  // its outputs
    int64_t workspace_bytes = 0;
    int draw = 0;  // draws of the node's program before this one
};

struct Schedule {
    std::vector<Form> inputs, outputs, temporaries;
    std::vector<Stage> stages;
    bool fused = false;
    std::string verdict;  // what the engine said

    int64_t workspace_bytes() const {
        int64_t most = 0;
        for (const auto& stage : stages) most = std::max(most, stage.workspace_bytes);
        return most;
    }
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
    // `sizes` by symbol, 0 allowed.
    Scheduler(const Program& program, std::vector<int64_t> sizes, const Target& target, Backend& backend)
        : program_(without_empty_pasts(program, sizes)),
          sizes_(std::move(sizes)),
          target_(target),
          backend_(backend) {
        made_.outputs = output_forms(program, sizes_);
    }

    Result<Schedule> make() {
        if (elements_of(made_.outputs) == 0) {
            made_.verdict = "nothing to compute";
            return std::move(made_);
        }
        if (auto error = fill_unused()) return *error;
        const auto steps = steps_of(program_);
        const auto answer = ask(program_, sizes_, steps, target_);
        if (!answer) return answer.error();
        made_.verdict = answer->text;
        auto launch = answer->fuse ? lower(program_, sizes_, target_.soc, target_.bounds) : Error{};
        made_.fused = bool(launch);
        if (answer->fuse && !launch) made_.verdict = launch.error().text();
        if (auto error = launch ? add_whole(std::move(*launch)) : add_steps(steps)) return *error;
        return std::move(made_);
    }

  private:
    // Axes that only an empty past had are 1 for the engine, which has no empty ones.
    std::optional<Error> fill_unused() {
        for (size_t i = 0; i < sizes_.size(); ++i) {
            if (sizes_[i] > 0) continue;
            if (used(static_cast<int>(i)))
                return Error{0, "d" + std::to_string(i) + " is 0 and yet there is something to compute"};
            sizes_[i] = 1;
        }
        return std::nullopt;
    }

    bool used(int symbol) const {
        const auto has = [symbol](const Dims& dims) {
            return std::any_of(dims.begin(), dims.end(),
                               [&](const Dim& dim) { return dim.symbol == symbol; });
        };
        if (has(program_.space)) return true;
        for (size_t i = 0; i < program_.inputs.size(); ++i)
            if (!program_.inputs[i].host && has(factors(input_shape(program_, i)))) return true;
        return false;
    }

    // `draw`: draws of the node's program before this one.
    std::optional<Error> add(Launch launch, int draw, std::vector<size_t> reads, std::vector<size_t> writes) {
        const int64_t workspace_bytes = launch.workspace_bytes;
        auto prepared = backend_.prepare(std::move(launch), target_.soc);
        if (!prepared) return prepared.error();
        made_.stages.push_back(
            Stage{std::move(*prepared), std::move(reads), std::move(writes), workspace_bytes, draw});
        return std::nullopt;
    }

    std::optional<Error> add_whole(Launch launch) {
        std::vector<size_t> reads, writes;
        for (size_t i = 0; i < program_.inputs.size(); ++i) reads.push_back(i);
        for (size_t i = 0; i < program_.outputs.size(); ++i) writes.push_back(reads.size() + i);
        return add(std::move(launch), 0, std::move(reads), std::move(writes));
    }

    std::optional<Error> add_steps(const std::vector<StepProgram>& steps) {
        const size_t inputs = program_.inputs.size(), outputs = program_.outputs.size();
        std::vector<size_t> at(program_.values.size());  // by value: the tensor that holds it
        for (size_t i = 0; i < inputs; ++i) at[i] = i;
        for (const auto& step : steps) {
            const auto forms = output_forms(step.program, sizes_);
            std::vector<size_t> reads, writes;
            for (const int value : step.inputs) reads.push_back(at[static_cast<size_t>(value)]);
            for (size_t k = 0; k < step.outputs.size(); ++k) {
                const StepOutput& output = step.outputs[k];
                size_t tensor = inputs + static_cast<size_t>(output.output);
                if (output.output < 0) {
                    tensor = inputs + outputs + made_.temporaries.size();
                    made_.temporaries.push_back(forms[k]);
                }
                if (output.value >= 0) at[static_cast<size_t>(output.value)] = tensor;
                writes.push_back(tensor);
            }
            auto launch = lower(step.program, sizes_, target_.soc, target_.bounds);
            if (!launch) return launch.error();
            if (auto error = add(std::move(*launch), step.draw, std::move(reads), std::move(writes)))
                return error;
        }
        return std::nullopt;
    }

    const Program program_;
    std::vector<int64_t> sizes_;
    const Target& target_;
    Backend& backend_;
    Schedule made_;
};

inline Result<Schedule> make_schedule(const Program& program, const std::vector<Tensor>& inputs,
                                      const Target& target, Backend& backend) {
    auto sizes = bind_known(program, inputs);
    if (!sizes) return sizes.error();
    auto schedule = Scheduler(program, std::move(*sizes), target, backend).make();
    if (!schedule) return schedule.error();
    for (const auto& tensor : inputs)
        schedule->inputs.push_back(
            Form{tensor.dtype, std::vector<int64_t>(tensor.sizes, tensor.sizes + tensor.rank)});
    return schedule;
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

// Runs the stages. `outputs` without an address are computed and dropped.
inline std::optional<Error> run_stages(const Schedule& schedule, const std::vector<Tensor>& inputs,
                                       const std::vector<Tensor>& outputs, const Draw& draw, Backend& backend,
                                       const ParallelFor& parallel, Traffic& traffic) {
    if (schedule.stages.empty()) return std::nullopt;
    std::vector<Block> own;  // of this run
    thread_local std::vector<Buffer> tensors, table;
    tensors.clear();
    const auto reserve = [&](int64_t bytes) -> void* {
        if (bytes == 0) return nullptr;
        own.emplace_back(backend, bytes);
        return own.back().address();
    };
    for (const auto& input : inputs)
        tensors.push_back({input.address, input.address ? input.bytes() : 0, false});
    for (const auto& output : outputs)
        tensors.push_back({output.address ? output.address : reserve(output.bytes()), output.bytes(), true});
    for (const auto& form : schedule.temporaries)
        tensors.push_back({reserve(form.bytes()), form.bytes(), true});
    const int64_t workspace_bytes = schedule.workspace_bytes();
    void* const workspace = workspace_bytes > 0 ? reserve(workspace_bytes) : nullptr;
    for (const auto& block : own)
        if (!block.address())
            return Error{0, "no memory is left for " + std::to_string(block.bytes()) + " B"};
    if (auto error = backend.begin()) return error;
    for (const auto& stage : schedule.stages) {
        table.clear();
        for (const size_t tensor : stage.reads) {
            table.push_back(tensors[tensor]);
            table.back().writable = false;
        }
        for (const size_t tensor : stage.writes) table.push_back(tensors[tensor]);
        if (stage.workspace_bytes > 0) table.push_back({workspace, stage.workspace_bytes, true});
        if (auto error = stage.launch->run({draw.key ^ static_cast<uint64_t>(stage.draw), draw.run}, table,
                                           parallel, traffic))
            return error;
    }
    return backend.finish(traffic);
}

}  // namespace ascend_fuse
