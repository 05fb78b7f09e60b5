// Launches on a device through AscendCL.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "acl.h"
#include "backend.h"
#include "device_memory.h"
#include "soc.h"

namespace ascend_fuse {

class AclLaunch : public PreparedLaunch {
  public:
    AclLaunch(Backend& backend, const Acl& acl, Launch launch, size_t tensors, void* function,
              void* sync_address)
        : backend_(backend),
          acl_(acl),
          launch_(std::move(launch)),
          tensors_(tensors),
          draws_(draws(launch_)),
          function_(function),
          sync_address_(sync_address) {}

    std::optional<Error> load() { return draws_ ? std::nullopt : send(launch_.block, nullptr, block_); }

    // A launch that draws has a block of its own each time, since others may still read the one before.
    std::optional<Error> run(const Draw& draw, void* const* tensors, const Caller& caller,
                             Traffic& traffic) override {
        Block drawn;
        if (draws_) {
            auto block = launch_.block;
            write_draw(launch_, block, draw);
            if (auto error = send(block, caller.stream, drawn)) return error;
        }
        traffic.launches += 1;
        traffic.loaded_bytes += launch_.loaded_bytes;
        traffic.stored_bytes += launch_.stored_bytes;
        traffic.ub_peak = std::max(traffic.ub_peak, launch_.ub_bytes);
        return start((draws_ ? drawn : block_).address(), tensors, caller.stream);
    }

  private:
    std::optional<Error> send(const std::vector<uint8_t>& from, void* stream, Block& to) {
        const auto bytes = static_cast<int64_t>(from.size());
        to = Block(backend_, bytes, stream, Writer::host);
        if (!to.address()) return Error{0, "no device memory is left for " + std::to_string(bytes) + " B"};
        return backend_.upload(to.address(), from.data(), bytes);
    }

    std::optional<Error> start(void* block, void* const* tensors, void* stream) {
        const AclCalls& calls = acl_.calls();
        void* arguments = nullptr;
        if (auto error = acl_.failed(calls.aclrtKernelArgsInit(function_, &arguments), "aclrtKernelArgsInit"))
            return error;
        void* values[] = {sync_address_, block};
        for (size_t i = sync_address_ ? 0 : 1; i < 2; ++i) {
            void* parameter = nullptr;
            const int code = calls.aclrtKernelArgsAppend(arguments, &values[i], sizeof values[i], &parameter);
            if (auto error = acl_.failed(code, "aclrtKernelArgsAppend")) return error;
        }
        if (auto error = append_table(arguments, tensors)) return error;
        if (auto error = acl_.failed(calls.aclrtKernelArgsFinalize(arguments), "aclrtKernelArgsFinalize"))
            return error;
        const auto block_dim = static_cast<uint32_t>(launch_.block_dim);
        return acl_.failed(
            calls.aclrtLaunchKernelWithConfig(function_, block_dim, stream, nullptr, arguments, nullptr),
            "aclrtLaunchKernelWithConfig");
    }

    // Travels with the launch: behind all arguments, where the runtime lets it be written.
    std::optional<Error> append_table(void* arguments, void* const* tensors) {
        const AclCalls& calls = acl_.calls();
        void* parameter = nullptr;
        if (auto error = acl_.failed(calls.aclrtKernelArgsAppendPlaceHolder(arguments, &parameter),
                                     "aclrtKernelArgsAppendPlaceHolder"))
            return error;
        void* buffer = nullptr;
        const size_t bytes = tensors_ * sizeof(void*);
        if (auto error =
                acl_.failed(calls.aclrtKernelArgsGetPlaceHolderBuffer(arguments, parameter, bytes, &buffer),
                            "aclrtKernelArgsGetPlaceHolderBuffer"))
            return error;
        std::copy_n(tensors, tensors_, static_cast<void**>(buffer));
        return std::nullopt;
    }

    Backend& backend_;
    const Acl& acl_;
    const Launch launch_;
    const size_t tensors_;
    const bool draws_;
    void* const function_;
    void* const
        sync_address_;  // first argument of a kernel on both kinds of cores, where the chip splits them
    Block block_;       // of a launch that does not draw
};

class AclBackend : public Backend {
  public:
    // `folder` holds ascend_fuse_<npu_arch>.o, one for each chip that it was built for.
    static Result<std::unique_ptr<AclBackend>> open(std::shared_ptr<DeviceMemory> memory,
                                                    const std::string& folder, int device) {
        if (auto error = memory->acl().use(device)) return *error;
        auto backend = std::make_unique<AclBackend>(std::move(memory), folder);
        const int code = backend->calls().aclrtCreateStream(&backend->stream_);
        if (auto error = backend->acl().failed(code, "aclrtCreateStream")) {
            backend->stream_ = nullptr;
            return *error;
        }
        return backend;
    }
    AclBackend(std::shared_ptr<DeviceMemory> memory, std::string folder)
        : memory_(std::move(memory)), folder_(std::move(folder)) {}
    ~AclBackend() override {
        if (memory_->give_back()) return;  // nothing says that no kernel runs
        for (const auto& [arch, binary] : binaries_) calls().aclrtBinaryUnLoad(binary);
        if (!stream_) return;
        memory_->forget(stream_);
        calls().aclrtDestroyStream(stream_);
    }

    // As the device says, such as Ascend910B3.
    std::string soc_name() const {
        const char* const name = calls().aclrtGetSocName();
        return name ? name : "";
    }
    const char* name() const override { return "acl"; }
    bool own_memory() const override { return true; }
    std::optional<Error> upload(void* to, const void* from, int64_t bytes) override {
        return memory_->copy(to, true, from, false, bytes);
    }
    void* stream(void* lent) override { return lent ? lent : stream_; }
    void* allocate(int64_t bytes, void* stream, Writer first) override {
        return memory_->allocate(bytes, stream, first);
    }
    void release(void* address) override { memory_->release(address); }

    Result<std::shared_ptr<PreparedLaunch>> prepare(Launch launch, std::vector<TensorAccess> accesses,
                                                    const Soc& soc) override {
        if (auto error = acl().enter()) return *error;
        auto function = function_of(launch, soc);
        if (!function) return function.error();
        void* sync_address = nullptr;
        if (launch.mixed && soc.npu_arch == 2201) {
            const int code = calls().aclrtGetHardwareSyncAddr(&sync_address);
            if (auto error = acl().failed(code, "aclrtGetHardwareSyncAddr")) return *error;
        }
        auto prepared = std::make_shared<AclLaunch>(*this, acl(), std::move(launch), accesses.size(),
                                                    *function, sync_address);
        if (auto error = prepared->load()) return *error;
        return std::shared_ptr<PreparedLaunch>(std::move(prepared));
    }

    // Without a stream, another provider may have written the inputs on one that we do not know.
    std::optional<Error> begin(void* lent) override { return lent ? acl().enter() : wait(); }
    std::optional<Error> finish(void* lent) override {
        return lent ? std::nullopt : memory_->end_run(stream_);
    }
    std::optional<Error> wait() override { return memory_->wait(nullptr); }

  private:
    Result<void*> function_of(const Launch& launch, const Soc& soc) {
        const std::lock_guard<std::mutex> lock(mutex_);
        void*& binary = binaries_[soc.npu_arch];
        const std::string path = folder_ + "/ascend_fuse_" + std::to_string(soc.npu_arch) + ".o";
        if (!binary) {
            const int code = calls().aclrtBinaryLoadFromFile(path.c_str(), nullptr, &binary);
            if (auto error = acl().failed(code, "loading " + path)) {
                binary = nullptr;
                return *error;
            }
        }
        const std::string kernel = std::string("ascend_fuse_") + ascend_fuse::name(launch.family);
        void* function = nullptr;
        const int code = calls().aclrtBinaryGetFunction(binary, kernel.c_str(), &function);
        if (auto error = acl().failed(code, "finding " + kernel + " in " + path)) return *error;
        return function;
    }

    Acl& acl() const { return memory_->acl(); }
    const AclCalls& calls() const { return acl().calls(); }

    const std::shared_ptr<DeviceMemory> memory_;
    const std::string folder_;
    void* stream_ = nullptr;
    std::mutex mutex_;
    std::map<int64_t, void*> binaries_;  // by npu_arch
};

}  // namespace ascend_fuse
