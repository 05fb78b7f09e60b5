// What ONNX Runtime calls to run a fused node.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph.h"
#include "node.h"
#include "ort.h"

namespace ascend_fuse::plugin {

// Where each tensor of the program stands in the kernel's context; -1 for one that is left out or not read.
struct Positions {
    std::vector<int> inputs, outputs;
};

// What whoever runs the model can do about sizes that a node does not take.
inline constexpr const char* remedy =
    "fuse the original model again for these sizes (--dim), or run it without this provider";

class Computation : public OrtNodeComputeInfo {
  public:
    Computation(const Ort& ort, std::shared_ptr<Node> node, Positions positions)
        : OrtNodeComputeInfo{},
          ort_(ort),
          node_(std::move(node)),
          positions_(std::move(positions)),
          own_memory_(node_->backend().own_memory()) {
        ort_version_supported = ort.version;
        CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*,
                         void** state) noexcept -> OrtStatus* {
            *state = self;
            return nullptr;
        };
        Compute = [](OrtNodeComputeInfo*, void* state, OrtKernelContext* context) noexcept -> OrtStatus* {
            auto& own = *static_cast<Computation*>(static_cast<OrtNodeComputeInfo*>(state));
            return own.ort_.guarded([&] { return own.compute(context); });
        };
        ReleaseState = [](OrtNodeComputeInfo*, void*) noexcept {};
    }

  private:
    OrtStatus* read_input(const OrtKernelContext* context, int position, void* stream, Tensor& tensor,
                          std::vector<Block>& uploaded) const {
        const OrtValue* value = nullptr;
        ASCEND_FUSE_TRY(ort_.api->KernelContext_GetInput(context, static_cast<size_t>(position), &value));
        ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
        ASCEND_FUSE_TRY(
            ort_.api->GetTensorElementTypeAndShapeDataReference(value, &type, &tensor.sizes, &tensor.rank));
        const auto dtype = dtype_of(type);
        if (!dtype) return ort_.failure("an input has element type " + std::to_string(type));
        tensor.dtype = *dtype;
        ASCEND_FUSE_TRY(ort_.api->GetTensorMutableData(const_cast<OrtValue*>(value), &tensor.address));
        return own_memory_ ? upload(value, stream, tensor, uploaded) : nullptr;
    }

    // ONNX Runtime's copies to a device provider leave the tensor in host memory where that has no copy
    // kernels of its own (github.com/microsoft/onnxruntime/pull/27272).
    OrtStatus* upload(const OrtValue* value, void* stream, Tensor& tensor,
                      std::vector<Block>& uploaded) const {
        const OrtMemoryDevice* const memory = ort_.ep->Value_GetMemoryDevice(value);
        if (ort_.ep->MemoryDevice_GetDeviceType(memory) == OrtMemoryInfoDeviceType_NPU || tensor.bytes() == 0)
            return nullptr;
        Backend& backend = node_->backend();
        uploaded.emplace_back(backend, tensor.bytes(), backend.stream(stream), Writer::host);
        void* const address = uploaded.back().address();
        if (!address) return ort_.failure("no device memory is left");
        const auto error = backend.upload(address, tensor.address, tensor.bytes());
        tensor.address = address;
        return ort_.status(error);
    }

    OrtStatus* make_outputs(OrtKernelContext* context, Run& run) const {
        const auto& forms = run.schedule().outputs;
        for (size_t i = 0; i < forms.size(); ++i) {
            void* address = nullptr;
            if (positions_.outputs[i] >= 0) {
                OrtValue* value = nullptr;
                const auto position = static_cast<size_t>(positions_.outputs[i]);
                ASCEND_FUSE_TRY(ort_.api->KernelContext_GetOutput(context, position, forms[i].sizes.data(),
                                                                  forms[i].sizes.size(), &value));
                ASCEND_FUSE_TRY(ort_.api->GetTensorMutableData(value, &address));
                // ONNX Runtime does not look at what the allocator of a device answered.
                if (!address && forms[i].bytes() > 0)
                    return ort_.failure("no memory is left for " + std::to_string(forms[i].bytes()) + " B");
            }
            run.set_output(i, address);
        }
        return nullptr;
    }

    OrtStatus* compute(OrtKernelContext* context) const {
        const Node::Lease lease(*node_);
        Run& run = *lease;
        std::vector<Block> uploaded;
        void* stream = nullptr;
        if (own_memory_) ASCEND_FUSE_TRY(ort_.api->KernelContext_GetGPUComputeStream(context, &stream));
        for (size_t i = 0; i < positions_.inputs.size(); ++i)
            if (positions_.inputs[i] >= 0)
                ASCEND_FUSE_TRY(read_input(context, positions_.inputs[i], stream, run.inputs[i], uploaded));
        if (const auto error = node_->prepare(run))
            return ort_.failure(error->text() + "; " + remedy, ORT_INVALID_ARGUMENT);
        ASCEND_FUSE_TRY(make_outputs(context, run));
        const ParallelFor pool = [this, context](size_t n, const std::function<void(size_t)>& call) {
            const auto one = [](void* user, size_t i) {
                (*static_cast<const std::function<void(size_t)>*>(user))(i);
            };
            ort_.drop(ort_.api->KernelContext_ParallelFor(context, one, n, 0,
                                                          const_cast<std::function<void(size_t)>*>(&call)));
        };
        return ort_.status(node_->execute(run, {pool, stream}));
    }

    const Ort& ort_;
    const std::shared_ptr<Node> node_;
    const Positions positions_;
    const bool own_memory_;  // whether the backend's kernels reach only their own
};

}  // namespace ascend_fuse::plugin
