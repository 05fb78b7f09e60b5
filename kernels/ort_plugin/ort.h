// ONNX Runtime as the plugin calls it.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dtype.h"
#include "ort_abi.h"
#include "result.h"

#define ASCEND_FUSE_TRY(call)                                              \
    do {                                                                   \
        if (OrtStatus* const failed_status = (call)) return failed_status; \
    } while (false)

namespace ascend_fuse::plugin {

inline constexpr const char* provider_name = "AscendFuseExecutionProvider";
inline constexpr const char* vendor_name = "ascend-fuse";
inline constexpr uint32_t vendor_id = 0x19e5;  // PCI: Huawei
inline constexpr const char* domain_name = "ai.ascendfuse";
inline constexpr uint32_t oldest_minor = 24;  // of ONNX Runtime 1: compute calls that allocate nothing
inline constexpr uint32_t later_minor = 25;   // OrtEp::Sync, OrtEp::CreateProfiler

struct Ort {
    const OrtApi* api = nullptr;
    const OrtEpApi* ep = nullptr;
    uint32_t version = 0;  // of the API that both sides know

    // A failure that ONNX Runtime does not answer with a session on other providers, as it does for
    // ORT_EP_FAIL.
    OrtStatus* failure(const std::string& message, OrtErrorCode code = ORT_RUNTIME_EXCEPTION) const {
        return api->CreateStatus(code, (std::string("ascend-fuse: ") + message).c_str());
    }
    OrtStatus* status(const std::optional<Error>& error) const {
        return error ? failure(error->text()) : nullptr;
    }
    void drop(OrtStatus* status) const {
        if (status) api->ReleaseStatus(status);
    }
    void log(const OrtLogger* logger, OrtLoggingLevel level, const std::string& message) const {
        if (logger)
            drop(api->Logger_LogMessage(logger, level, message.c_str(), __FILE__, __LINE__, provider_name));
    }

    // Nothing may be thrown into ONNX Runtime.
    template <class Call>
    OrtStatus* guarded(const Call& call) const noexcept {
        try {
            return call();
        } catch (const std::exception& error) {
            return api->CreateStatus(ORT_RUNTIME_EXCEPTION, error.what());
        } catch (...) {
            return api->CreateStatus(ORT_RUNTIME_EXCEPTION, "ascend-fuse: unknown error");
        }
    }
};

// The minor number of a version such as 1.24.4; nothing if the major is another.
inline std::optional<uint32_t> minor_of(const char* version) {
    char* end = nullptr;
    if (std::strtoul(version, &end, 10) != 1 || *end != '.') return std::nullopt;
    return static_cast<uint32_t>(std::strtoul(end + 1, nullptr, 10));
}

inline std::optional<Dtype> dtype_of(ONNXTensorElementDataType type) {
    switch (type) {
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
            return Dtype::f16;
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
            return Dtype::bf16;
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
            return Dtype::f32;
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
            return Dtype::f64;
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
            return Dtype::i8;
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
            return Dtype::i16;
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
            return Dtype::i32;
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
            return Dtype::i64;
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
            return Dtype::u8;
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
            return Dtype::u16;
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
            return Dtype::u32;
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
            return Dtype::u64;
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
            return Dtype::boolean;
        default:
            return std::nullopt;
    }
}

}  // namespace ascend_fuse::plugin
