// The execution provider of one session: which nodes it claims, how they are compiled.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compute.h"
#include "graph.h"
#include "ort.h"
#include "profiler.h"
#include "session.h"

namespace ascend_fuse::plugin {

class Provider : public OrtEp {
  public:
    Provider(const Ort& ort, std::shared_ptr<Session> session, const OrtLogger* logger)
        : OrtEp{}, ort_(ort), session_(std::move(session)), logger_(logger) {
        session_->observe(recording_);
        ort_version_supported = ort.version;
        GetName = [](const OrtEp*) noexcept { return provider_name; };
        GetCapability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support) noexcept {
            auto& own = *static_cast<Provider*>(self);
            return own.ort_.guarded([&] { return own.claim(graph, support); });
        };
        Compile = [](OrtEp* self, const OrtGraph** graphs, const OrtNode** fused, size_t count,
                     OrtNodeComputeInfo** infos, OrtNode**) noexcept {
            auto& own = *static_cast<Provider*>(self);
            return own.ort_.guarded([&]() -> OrtStatus* {
                for (size_t i = 0; i < count; ++i)
                    ASCEND_FUSE_TRY(own.compile(graphs[i], fused[i], &infos[i]));
                return nullptr;
            });
        };
        ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** infos, size_t count) noexcept {
            for (size_t i = 0; i < count; ++i) delete static_cast<Computation*>(infos[i]);
        };
        if (ort.version < later_minor) return;
        Sync = [](OrtEp* self) noexcept -> OrtStatus* {
            auto& own = *static_cast<Provider*>(self);
            return own.ort_.guarded([&] { return own.ort_.status(own.session_->backend().wait()); });
        };
        CreateProfiler = [](OrtEp* self, OrtEpProfilerImpl** profiler) noexcept {
            auto& own = *static_cast<Provider*>(self);
            return own.ort_.guarded([&]() -> OrtStatus* {
                *profiler = new Profiler(own.ort_, own.recording_);
                return nullptr;
            });
        };
    }

  private:
    OrtStatus* nodes_of(const OrtGraph* graph, std::vector<const OrtNode*>& nodes) const {
        size_t count = 0;
        ASCEND_FUSE_TRY(ort_.api->Graph_GetNumNodes(graph, &count));
        nodes.resize(count);
        return ort_.api->Graph_GetNodes(graph, nodes.data(), count);
    }

    // Called for each graph, subgraphs included, and again for what is left of it.
    OrtStatus* claim(const OrtGraph* graph, OrtEpGraphSupportInfo* support) {
        std::vector<const OrtNode*> nodes;
        ASCEND_FUSE_TRY(nodes_of(graph, nodes));
        for (const OrtNode* node : nodes) {
            GraphNode found(ort_, node);
            ASCEND_FUSE_TRY(found.read());
            if (!found.ours()) continue;
            const auto made = Node::make(found.text, session_);
            const auto reason = made ? refused(found, **made) : made.error();
            if (reason) {
                ort_.log(logger_, ORT_LOGGING_LEVEL_WARNING,
                         "node " + found.text.name + " is left to other providers: " + reason->text());
                continue;
            }
            ASCEND_FUSE_TRY(ort_.ep->EpGraphSupportInfo_AddNodesToFuse(support, &node, 1, nullptr));
        }
        return nullptr;
    }

    static int position(const std::vector<Known>& values, const std::string& name) {
        if (name.empty()) return -1;
        for (size_t i = 0; i < values.size(); ++i)
            if (values[i].name == name) return static_cast<int>(i);
        return -1;
    }

    // The fused node's inputs are those of the graph once each, so they are found by name.
    OrtStatus* compile(const OrtGraph* graph, const OrtNode* fused, OrtNodeComputeInfo** info) {
        std::vector<const OrtNode*> nodes;
        ASCEND_FUSE_TRY(nodes_of(graph, nodes));
        if (nodes.size() != 1) return ort_.failure("wanted a graph of one node to compile");
        GraphNode found(ort_, nodes[0]), outside(ort_, fused);
        ASCEND_FUSE_TRY(found.read());
        ASCEND_FUSE_TRY(outside.read_values());
        auto node = Node::make(found.text, session_);
        if (!node) return ort_.failure(found.text.name + ": " + node.error().text());
        (*node)->open_counter();
        Positions positions;
        for (size_t i = 0; i < found.inputs.size(); ++i) {
            const bool host = (*node)->program().inputs[i].host;
            positions.inputs.push_back(host ? -1 : position(outside.inputs, found.inputs[i].name));
            if (positions.inputs.back() < 0 && !host)
                return ort_.failure(found.text.name + ": input " + std::to_string(i) + " is left out");
        }
        for (const auto& output : found.outputs)
            positions.outputs.push_back(position(outside.outputs, output.name));
        *info = new Computation(ort_, std::move(*node), std::move(positions));
        return nullptr;
    }

    const Ort& ort_;
    const std::shared_ptr<Session> session_;
    const std::shared_ptr<Recording> recording_ = std::make_shared<Recording>();
    const OrtLogger* logger_;
};

}  // namespace ascend_fuse::plugin
