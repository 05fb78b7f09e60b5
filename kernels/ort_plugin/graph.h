// Fused nodes as they stand in a graph of ONNX Runtime.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "node.h"
#include "ort.h"

namespace ascend_fuse::plugin {

// A value of the graph: what of it is known before anything runs; sizes below 0 are not.
struct Known {
    std::string name;
    std::optional<Dtype> dtype;
    std::vector<int64_t> sizes;
    bool ranked = false;
};

class GraphNode {
  public:
    GraphNode(const Ort& ort, const OrtNode* node) : ort_(ort), node_(node) {}

    OrtStatus* read() {
        const char* domain = nullptr;
        const char* name = nullptr;
        ASCEND_FUSE_TRY(ort_.api->Node_GetDomain(node_, &domain));
        ASCEND_FUSE_TRY(ort_.api->Node_GetName(node_, &name));
        ours_ = domain && std::string(domain) == domain_name;
        if (!ours_) return nullptr;
        text.name = name ? name : "";
        ASCEND_FUSE_TRY(read_text("program", text.program));
        ASCEND_FUSE_TRY(read_text("soc", text.soc));
        int64_t fuse = 1;
        ASCEND_FUSE_TRY(read_integer("fuse_enable", fuse));
        text.fuse = fuse != 0;
        ASCEND_FUSE_TRY(read_values());
        if (text.name.empty() && !outputs.empty()) text.name = outputs[0].name;
        return nullptr;
    }

    // Inputs and outputs alone, of any node.
    OrtStatus* read_values() {
        size_t count = 0;
        ASCEND_FUSE_TRY(ort_.api->Node_GetNumInputs(node_, &count));
        std::vector<const OrtValueInfo*> values(count);
        ASCEND_FUSE_TRY(ort_.api->Node_GetInputs(node_, values.data(), count));
        ASCEND_FUSE_TRY(read_values(values, inputs));
        ASCEND_FUSE_TRY(ort_.api->Node_GetNumOutputs(node_, &count));
        values.assign(count, nullptr);
        ASCEND_FUSE_TRY(ort_.api->Node_GetOutputs(node_, values.data(), count));
        return read_values(values, outputs);
    }

    // Whether it is a fused node; the rest is only read of those.
    bool ours() const { return ours_ && !text.program.empty(); }

    NodeText text;
    std::vector<Known> inputs, outputs;

  private:
    OrtStatus* read_text(const char* name, std::string& value) const {
        const OrtOpAttr* attribute = nullptr;
        // An attribute that is not there is an error in some versions and null in others.
        if (OrtStatus* const status = ort_.api->Node_GetAttributeByName(node_, name, &attribute)) {
            ort_.drop(status);
            return nullptr;
        }
        if (!attribute) return nullptr;
        size_t bytes = 0;
        ort_.drop(ort_.api->ReadOpAttr(attribute, ORT_OP_ATTR_STRING, nullptr, 0, &bytes));
        value.resize(bytes);
        if (bytes == 0) return nullptr;
        ASCEND_FUSE_TRY(ort_.api->ReadOpAttr(attribute, ORT_OP_ATTR_STRING, value.data(), bytes, &bytes));
        while (!value.empty() && value.back() == '\0') value.pop_back();
        return nullptr;
    }

    OrtStatus* read_integer(const char* name, int64_t& value) const {
        const OrtOpAttr* attribute = nullptr;
        if (OrtStatus* const status = ort_.api->Node_GetAttributeByName(node_, name, &attribute)) {
            ort_.drop(status);
            return nullptr;
        }
        size_t bytes = 0;
        return attribute ? ort_.api->ReadOpAttr(attribute, ORT_OP_ATTR_INT, &value, sizeof value, &bytes)
                         : nullptr;
    }

    OrtStatus* read_values(const std::vector<const OrtValueInfo*>& values, std::vector<Known>& known) const {
        for (const OrtValueInfo* value : values) {
            known.emplace_back();
            if (!value) continue;  // left out
            const char* name = nullptr;
            ASCEND_FUSE_TRY(ort_.api->GetValueInfoName(value, &name));
            known.back().name = name;
            const OrtTypeInfo* type = nullptr;
            const OrtTensorTypeAndShapeInfo* tensor = nullptr;
            ASCEND_FUSE_TRY(ort_.api->GetValueInfoTypeInfo(value, &type));
            if (type) ASCEND_FUSE_TRY(ort_.api->CastTypeInfoToTensorInfo(type, &tensor));
            if (!tensor) continue;
            ASCEND_FUSE_TRY(read_form(*tensor, known.back()));
        }
        return nullptr;
    }

    OrtStatus* read_form(const OrtTensorTypeAndShapeInfo& tensor, Known& known) const {
        ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
        ASCEND_FUSE_TRY(ort_.api->GetTensorElementType(&tensor, &type));
        known.dtype = dtype_of(type);
        size_t rank = 0;
        ASCEND_FUSE_TRY(ort_.api->GetDimensionsCount(&tensor, &rank));
        known.sizes.resize(rank);
        ASCEND_FUSE_TRY(ort_.api->GetDimensions(&tensor, known.sizes.data(), rank));
        // A value without a shape has none of its dimensions either; what has some is ranked.
        known.ranked = rank > 0;
        return nullptr;
    }

    const Ort& ort_;
    const OrtNode* node_;
    bool ours_ = false;
};

inline constexpr int64_t supposed_size = 64;  // of what a graph does not say, to try a program with

// Whether this chip's kernels run the node: why not, else nothing. Sizes that are unknown yet are supposed.
inline std::optional<Error> refused(const GraphNode& found, const Node& node) {
    const Program& program = node.program();
    if (found.inputs.size() != program.inputs.size())
        return Error{0, "the node has " + std::to_string(found.inputs.size()) + " inputs, its program " +
                            std::to_string(program.inputs.size())};
    if (found.outputs.size() != program.outputs.size())
        return Error{0, "the node has " + std::to_string(found.outputs.size()) + " outputs, its program " +
                            std::to_string(program.outputs.size())};
    std::vector<Form> forms;
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < program.inputs.size(); ++i) {
        const Known& known = found.inputs[i];
        forms.push_back(Form{known.dtype.value_or(program.values[i].dtype), known.sizes});
        if (!known.ranked) forms.back().sizes.assign(input_shape(program, i).size(), unbound);
    }
    for (const auto& form : forms) tensors.push_back(form.at(nullptr));
    auto sizes = bind_known(program, tensors);
    if (!sizes) return sizes.error();
    for (auto& size : *sizes)
        if (size < 1) size = supposed_size;
    return unrunnable(program, *sizes, node.target());
}

}  // namespace ascend_fuse::plugin
