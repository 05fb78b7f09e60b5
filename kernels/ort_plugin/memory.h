// Device memory for ONNX Runtime, so that no copies stand between our nodes and those of another NPU
// provider.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "device_memory.h"
#include "ort.h"
#include "tensor.h"

namespace ascend_fuse::plugin {

class DeviceAllocator : public OrtAllocator {
  public:
    DeviceAllocator(const Ort& ort, std::shared_ptr<DeviceMemory> memory, const OrtMemoryInfo* info)
        : OrtAllocator{}, ort_(ort), memory_(std::move(memory)), info_(info) {
        version = ort.version;
        Alloc = [](OrtAllocator* self, size_t bytes) noexcept {
            return static_cast<DeviceAllocator*>(self)->allocate(bytes, nullptr);
        };
        Reserve = Alloc;
        AllocOnStream = [](OrtAllocator* self, size_t bytes, OrtSyncStream* stream) noexcept {
            return static_cast<DeviceAllocator*>(self)->allocate(bytes, stream);
        };
        Free = [](OrtAllocator* self, void* address) noexcept {
            static_cast<DeviceAllocator*>(self)->memory_->release(address);
        };
        OrtAllocator::Info = [](const OrtAllocator* self) noexcept {
            return static_cast<const DeviceAllocator*>(self)->info_;
        };
    }

  private:
    void* allocate(size_t bytes, OrtSyncStream* stream) {
        return memory_->allocate(static_cast<int64_t>(bytes),
                                 stream ? ort_.api->SyncStream_GetHandle(stream) : nullptr);
    }

    const Ort& ort_;
    const std::shared_ptr<DeviceMemory> memory_;
    const OrtMemoryInfo* info_;
};

class DeviceTransfer : public OrtDataTransferImpl {
  public:
    DeviceTransfer(const Ort& ort, std::shared_ptr<DeviceMemory> memory)
        : OrtDataTransferImpl{}, ort_(ort), memory_(std::move(memory)) {
        ort_version_supported = ort.version;
        Release = [](OrtDataTransferImpl* self) noexcept { delete static_cast<DeviceTransfer*>(self); };
        CanCopy = [](const OrtDataTransferImpl* self, const OrtMemoryDevice* from,
                     const OrtMemoryDevice* to) noexcept {
            const auto& own = *static_cast<const DeviceTransfer*>(self);
            return (own.is_device(from) || own.is_device(to)) && (own.is_device(from) || own.is_host(from)) &&
                   (own.is_device(to) || own.is_host(to));
        };
        CopyTensors = [](OrtDataTransferImpl* self, const OrtValue** from, OrtValue** to,
                         OrtSyncStream** streams, size_t count) noexcept {
            auto& own = *static_cast<DeviceTransfer*>(self);
            return own.ort_.guarded([&] { return own.copy(from, to, streams, count); });
        };
    }

  private:
    bool is_device(const OrtMemoryDevice* device) const {
        return ort_.ep->MemoryDevice_GetDeviceType(device) == OrtMemoryInfoDeviceType_NPU &&
               ort_.ep->MemoryDevice_GetVendorId(device) == vendor_id;
    }
    bool is_host(const OrtMemoryDevice* device) const {
        return ort_.ep->MemoryDevice_GetDeviceType(device) == OrtMemoryInfoDeviceType_CPU;
    }

    // Host memory may be another's as soon as this returns, so nothing is left queued.
    OrtStatus* copy(const OrtValue** from, OrtValue** to, OrtSyncStream** streams, size_t count) const {
        void* waited = nullptr;
        for (size_t i = 0; i < count; ++i) {
            OrtSyncStream* const lent = streams ? streams[i] : nullptr;
            void* const stream = lent ? ort_.api->SyncStream_GetHandle(lent) : nullptr;
            if (i == 0 || stream != waited) ASCEND_FUSE_TRY(ort_.status(memory_->wait(stream)));
            waited = stream;
            ASCEND_FUSE_TRY(copy(from[i], to[i]));
        }
        return nullptr;
    }

    OrtStatus* copy(const OrtValue* from, OrtValue* to) const {
        void *source = nullptr, *target = nullptr;
        ASCEND_FUSE_TRY(ort_.api->GetTensorMutableData(const_cast<OrtValue*>(from), &source));
        ASCEND_FUSE_TRY(ort_.api->GetTensorMutableData(to, &target));
        Tensor tensor;
        ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
        ASCEND_FUSE_TRY(
            ort_.api->GetTensorElementTypeAndShapeDataReference(from, &type, &tensor.sizes, &tensor.rank));
        const auto dtype = dtype_of(type);
        if (!dtype) return ort_.failure("cannot copy element type " + std::to_string(type));
        tensor.dtype = *dtype;
        return ort_.status(memory_->copy(target, is_device(ort_.ep->Value_GetMemoryDevice(to)), source,
                                         is_device(ort_.ep->Value_GetMemoryDevice(from)), tensor.bytes()));
    }

    const Ort& ort_;
    const std::shared_ptr<DeviceMemory> memory_;
};

}  // namespace ascend_fuse::plugin
