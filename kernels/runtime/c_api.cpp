#include "c_api.h"

#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node.h"

using namespace ascend_fuse;

struct AscendFuseCall {
    std::shared_ptr<Node> node;
    std::vector<Form> forms;  // of the inputs
    Run run;
};

namespace {

// Texts that a caller reads after a call of its thread.
std::string& last_text() {
    thread_local std::string text;
    return text;
}

std::string& last_error() {
    thread_local std::string text;
    return text;
}

template <class Value, class Call>
Value guarded(Value failed, const Call& call) noexcept {
    try {
        return call();
    } catch (const std::exception& error) {
        last_error() = error.what();
        return failed;
    }
}

Pairs read_pairs(std::string_view text) {
    Pairs pairs;
    for (const auto line : split(text, "\n")) {
        if (line.empty()) continue;
        const auto equals = std::min(line.find('='), line.size());
        pairs.emplace_back(line.substr(0, equals), line.substr(std::min(equals + 1, line.size())));
    }
    return pairs;
}

Result<std::unique_ptr<AscendFuseCall>> prepare(const char* program, const char* options,
                                                const AscendFuseTensor* inputs, int32_t count) {
    const auto read = read_options(read_pairs(options));
    if (!read) return read.error();
    if (read->backend == "acl")
        return Error{0, "a program without a model runs on the emulator: its tensors are in host memory"};
    auto session = Session::open(*read, nullptr);
    if (!session) return session.error();
    auto node = Node::make(NodeText{"program", program, "", true}, std::move(*session));
    if (!node) return node.error();
    auto call = std::make_unique<AscendFuseCall>(AscendFuseCall{std::move(*node), {}, Run(0)});
    for (int32_t i = 0; i < count; ++i) {
        if (inputs[i].dtype < 0 || inputs[i].dtype >= static_cast<int32_t>(dtype_names.size()))
            return Error{0,
                         "input " + std::to_string(i) + " has no dtype " + std::to_string(inputs[i].dtype)};
        call->forms.push_back(Form{static_cast<Dtype>(inputs[i].dtype), {}});
        call->forms.back().sizes.assign(inputs[i].sizes, inputs[i].sizes + inputs[i].rank);
    }
    for (int32_t i = 0; i < count; ++i)
        call->run.inputs.push_back(call->forms[static_cast<size_t>(i)].at(inputs[i].address));
    if (auto error = call->node->prepare(call->run)) return *error;
    call->node->open_counter();
    return call;
}

Result<Count> emulate(const AscendFuseLaunch& made, const char* soc_name, const AscendFuseRegion* tensors,
                      int32_t count) {
    const auto soc = find_soc(soc_name);
    if (!soc) return soc.error();
    Launch launch;
    const auto* block = static_cast<const uint8_t*>(made.block);
    launch.block.assign(block, block + made.bytes);
    launch.block_dim = made.block_dim;
    launch.family = static_cast<Family>(made.family);
    launch.mixed = made.mixed != 0;
    std::vector<void*> table;
    std::vector<TensorAccess> accesses;
    for (int32_t i = 0; i < count; ++i) {
        table.push_back(tensors[i].address);
        accesses.push_back({tensors[i].bytes, tensors[i].writable != 0});
    }
    auto prepared = EmulatorBackend().prepare(std::move(launch), std::move(accesses), *soc);
    if (!prepared) return prepared.error();
    Count done{1, 1, {}};
    if (auto error = (*prepared)->run({made.key, made.run}, table.data(), {serially}, done.traffic))
        return *error;
    return done;
}

}  // namespace

const char* ascend_fuse_counters() noexcept {
    return guarded("", [] { return (last_text() = Ledger::of_process().json()).c_str(); });
}

void ascend_fuse_reset_counters() noexcept { Ledger::of_process().reset(); }

const char* ascend_fuse_error() noexcept { return last_error().c_str(); }

AscendFuseCall* ascend_fuse_prepare(const char* program, const char* options, const AscendFuseTensor* inputs,
                                    int32_t count) noexcept {
    return guarded(static_cast<AscendFuseCall*>(nullptr), [&]() -> AscendFuseCall* {
        auto call = prepare(program, options, inputs, count);
        if (!call) last_error() = call.error().text();
        return call ? call->release() : nullptr;
    });
}

int32_t ascend_fuse_outputs(const AscendFuseCall* call) noexcept {
    return static_cast<int32_t>(call->run.schedule().outputs.size());
}

AscendFuseTensor ascend_fuse_output(const AscendFuseCall* call, int32_t output) noexcept {
    const Form& form = call->run.schedule().outputs[static_cast<size_t>(output)];
    return {static_cast<int32_t>(form.dtype), static_cast<int32_t>(form.sizes.size()), form.sizes.data(),
            nullptr};
}

int32_t ascend_fuse_execute(AscendFuseCall* call, void* const* outputs) noexcept {
    return guarded(1, [&] {
        for (size_t i = 0; i < call->run.schedule().outputs.size(); ++i) call->run.set_output(i, outputs[i]);
        const auto error = call->node->execute(call->run, {serially});
        if (error) last_error() = error->text();
        return error ? 1 : 0;
    });
}

const char* ascend_fuse_report(const AscendFuseCall* call) noexcept {
    return guarded("", [&] { return (last_text() = call->node->counter_json()).c_str(); });
}

const char* ascend_fuse_launch(const AscendFuseLaunch* launch, const char* soc,
                               const AscendFuseRegion* tensors, int32_t count) noexcept {
    return guarded(static_cast<const char*>(nullptr), [&]() -> const char* {
        const auto done = emulate(*launch, soc, tensors, count);
        if (!done) last_error() = done.error().text();
        return done ? (last_text() = "{" + fields(*done) + "}").c_str() : nullptr;
    });
}

void ascend_fuse_release(AscendFuseCall* call) noexcept { delete call; }
