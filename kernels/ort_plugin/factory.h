// What ONNX Runtime makes providers with: one device for the emulator, one for ACL where libascendcl is
// installed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "acl.h"
#include "memory.h"
#include "options.h"
#include "ort.h"
#include "provider.h"
#include "stream.h"

#ifndef ASCEND_FUSE_VERSION
#define ASCEND_FUSE_VERSION "0.0.0"
#endif

namespace ascend_fuse::plugin {

class Factory : public OrtEpFactory {
  public:
    explicit Factory(Ort ort) : OrtEpFactory{}, ort_(ort) {
        ort_version_supported = ort.version;
        GetName = [](const OrtEpFactory*) noexcept { return provider_name; };
        GetVendor = [](const OrtEpFactory*) noexcept { return vendor_name; };
        GetVendorId = [](const OrtEpFactory*) noexcept { return vendor_id; };
        GetVersion = [](const OrtEpFactory*) noexcept { return ASCEND_FUSE_VERSION; };
        GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t count,
                                 OrtEpDevice** made, size_t limit, size_t* used) noexcept {
            auto& own = *static_cast<Factory*>(self);
            return own.ort_.guarded([&] { return own.find_devices(devices, count, made, limit, *used); });
        };
        CreateEp = [](OrtEpFactory* self, const OrtHardwareDevice* const*,
                      const OrtKeyValuePairs* const* metadata, size_t count, const OrtSessionOptions* options,
                      const OrtLogger* logger, OrtEp** provider) noexcept {
            auto& own = *static_cast<Factory*>(self);
            return own.ort_.guarded([&] { return own.create(metadata, count, options, logger, provider); });
        };
        ReleaseEp = [](OrtEpFactory*, OrtEp* provider) noexcept { delete static_cast<Provider*>(provider); };
        CreateAllocator = [](OrtEpFactory* self, const OrtMemoryInfo* info, const OrtKeyValuePairs*,
                             OrtAllocator** allocator) noexcept {
            auto& own = *static_cast<Factory*>(self);
            return own.ort_.guarded([&]() -> OrtStatus* {
                *allocator = own.device_ ? new DeviceAllocator(own.ort_, own.device_, info) : nullptr;
                return nullptr;
            });
        };
        ReleaseAllocator = [](OrtEpFactory*, OrtAllocator* allocator) noexcept {
            delete static_cast<DeviceAllocator*>(allocator);
        };
        CreateDataTransfer = [](OrtEpFactory* self, OrtDataTransferImpl** transfer) noexcept {
            auto& own = *static_cast<Factory*>(self);
            return own.ort_.guarded([&]() -> OrtStatus* {
                *transfer = own.device_ ? new DeviceTransfer(own.ort_, own.device_) : nullptr;
                return nullptr;
            });
        };
        // Asked for devices with memory of their own alone, so not for the emulator's.
        IsStreamAware = [](const OrtEpFactory* self) noexcept {
            return static_cast<const Factory*>(self)->device_ != nullptr;
        };
        CreateSyncStreamForDevice = [](OrtEpFactory* self, const OrtMemoryDevice*, const OrtKeyValuePairs*,
                                       OrtSyncStreamImpl** stream) noexcept {
            auto& own = *static_cast<Factory*>(self);
            return own.ort_.guarded([&] { return Stream::make(own.ort_, own.device_, stream); });
        };
    }
    ~Factory() {
        if (memory_) ort_.api->ReleaseMemoryInfo(memory_);
    }

  private:
    OrtStatus* add_device(const OrtHardwareDevice* hardware, const char* backend, OrtEpDevice** device) {
        OrtKeyValuePairs* metadata = nullptr;
        ort_.api->CreateKeyValuePairs(&metadata);
        ort_.api->AddKeyValuePair(metadata, "backend", backend);
        OrtStatus* const status = ort_.ep->CreateEpDevice(this, hardware, metadata, nullptr, device);
        ort_.api->ReleaseKeyValuePairs(metadata);
        return status;
    }

    // Both stand on the CPU, which ONNX Runtime knows on every machine.
    OrtStatus* find_devices(const OrtHardwareDevice* const* devices, size_t count, OrtEpDevice** made,
                            size_t limit, size_t& used) {
        used = 0;
        for (size_t i = 0; i < count && used + 2 <= limit; ++i) {
            if (ort_.api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
            ASCEND_FUSE_TRY(add_device(devices[i], "emulator", &made[used++]));
            auto acl = Acl::load();
            if (!acl) return nullptr;  // no CANN on this machine
            device_ = std::make_shared<DeviceMemory>(std::move(*acl));
            ASCEND_FUSE_TRY(add_device(devices[i], "acl", &made[used++]));
            if (!memory_)
                ASCEND_FUSE_TRY(ort_.api->CreateMemoryInfo_V2("ascend-fuse", OrtMemoryInfoDeviceType_NPU,
                                                              vendor_id, 0, OrtDeviceMemoryType_DEFAULT, 0,
                                                              OrtDeviceAllocator, &memory_));
            return ort_.ep->EpDevice_AddAllocatorInfo(made[used - 1], memory_);
        }
        return nullptr;
    }

    Pairs pairs_of(const OrtKeyValuePairs* entries) const {
        const char* const* keys = nullptr;
        const char* const* values = nullptr;
        size_t count = 0;
        ort_.api->GetKeyValuePairs(entries, &keys, &values, &count);
        Pairs pairs;
        for (size_t i = 0; i < count; ++i) pairs.emplace_back(keys[i], values[i]);
        return pairs;
    }

    // Options arrive among the session's entries as `ep.ascendfuseexecutionprovider.<name>`.
    OrtStatus* options_of(const OrtSessionOptions* session, Pairs& own) const {
        OrtKeyValuePairs* entries = nullptr;
        ASCEND_FUSE_TRY(ort_.api->GetSessionOptionsConfigEntries(session, &entries));
        std::string prefix = std::string("ep.") + provider_name + ".";
        std::transform(prefix.begin(), prefix.end(), prefix.begin(),
                       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        for (const auto& [key, value] : pairs_of(entries))
            if (key.compare(0, prefix.size(), prefix) == 0)
                own.emplace_back(key.substr(prefix.size()), value);
        ort_.api->ReleaseKeyValuePairs(entries);
        return nullptr;
    }

    OrtStatus* create(const OrtKeyValuePairs* const* metadata, size_t count, const OrtSessionOptions* session,
                      const OrtLogger* logger, OrtEp** provider) {
        if (count != 1)
            return ort_.failure("add one of the provider's devices, the one whose metadata name the backend",
                                ORT_INVALID_ARGUMENT);
        std::string backend = "emulator";
        for (const auto& [key, value] : pairs_of(metadata[0]))
            if (key == "backend") backend = value;
        Pairs pairs{{"backend", backend}};
        ASCEND_FUSE_TRY(options_of(session, pairs));
        const auto options = read_options(pairs);
        if (!options) return ort_.failure(options.error().text(), ORT_INVALID_ARGUMENT);
        if (options->backend != backend)
            return ort_.failure("option backend is " + options->backend + ", the device's is " + backend,
                                ORT_INVALID_ARGUMENT);
        auto opened = Session::open(*options, device_);
        if (!opened) return ort_.failure(opened.error().text(), ORT_INVALID_ARGUMENT);
        *provider = new Provider(ort_, std::move(*opened), logger);
        return nullptr;
    }

    const Ort ort_;
    std::shared_ptr<DeviceMemory> device_;  // null without CANN
    OrtMemoryInfo* memory_ = nullptr;
};

}  // namespace ascend_fuse::plugin
