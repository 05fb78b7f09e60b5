// Launches on a device through AscendCL.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "acl.h"
#include "backend.h"
#include "soc.h"

namespace ascend_fuse {

class AclLaunch : public PreparedLaunch {
  public:
    AclLaunch(Backend& backend, std::shared_ptr<Acl> acl, void* stream, Launch launch, void* function,
              void* sync_address)
        : acl_(std::move(acl)),
          stream_(stream),
          launch_(std::move(launch)),
          draws_(draws(launch_)),
          function_(function),
          sync_address_(sync_address),
          block_(backend, static_cast<int64_t>(launch_.block.size())),
          table_(backend, table_bytes) {}

    std::optional<Error> load() {
        if (!block_.address() || !table_.address()) return Error{0, "no device memory is left"};
        return acl_->copy(block_.address(), true, launch_.block.data(), false, block_.bytes());
    }

    std::optional<Error> run(const Draw& draw, const std::vector<Buffer>& tensors, const ParallelFor&,
                             Traffic& traffic) override {
        if (draws_) {
            write_draw(launch_, launch_.block, draw);
            if (auto error = send(block_.address(), launch_.block.data(), launch_.block.size())) return error;
        }
        addresses_.clear();
        for (const auto& tensor : tensors) addresses_.push_back(tensor.address);
        if (auto error = send(table_.address(), addresses_.data(), addresses_.size() * sizeof(void*)))
            return error;
        traffic.launches += 1;
        traffic.loaded_bytes += launch_.loaded_bytes;
        traffic.stored_bytes += launch_.stored_bytes;
        traffic.ub_peak = std::max(traffic.ub_peak, launch_.ub_bytes);
        return start(traffic);
    }

  private:
    static constexpr int64_t table_bytes = 64 * static_cast<int64_t>(sizeof(void*));

    // In the order of the stream, so that a launch before it still sees what was there.
    std::optional<Error> send(void* to, const void* from, size_t bytes) {
        constexpr int host_to_device = 1;  // aclrtMemcpyKind
        return acl_->failed(acl_->calls().aclrtMemcpyAsync(to, bytes, from, bytes, host_to_device, stream_),
                            "aclrtMemcpyAsync");
    }

    std::optional<Error> start(Traffic& traffic) {
        const Stopwatch watch(traffic.kernel_ticks);
        const AclCalls& calls = acl_->calls();
        void* arguments = nullptr;
        if (auto error =
                acl_->failed(calls.aclrtKernelArgsInit(function_, &arguments), "aclrtKernelArgsInit"))
            return error;
        void* values[] = {sync_address_, block_.address(), table_.address()};
        for (size_t i = sync_address_ ? 0 : 1; i < 3; ++i) {
            void* parameter = nullptr;
            const int code = calls.aclrtKernelArgsAppend(arguments, &values[i], sizeof values[i], &parameter);
            if (auto error = acl_->failed(code, "aclrtKernelArgsAppend")) return error;
        }
        if (auto error = acl_->failed(calls.aclrtKernelArgsFinalize(arguments), "aclrtKernelArgsFinalize"))
            return error;
        const auto block_dim = static_cast<uint32_t>(launch_.block_dim);
        return acl_->failed(
            calls.aclrtLaunchKernelWithConfig(function_, block_dim, stream_, nullptr, arguments, nullptr),
            "aclrtLaunchKernelWithConfig");
    }

    const std::shared_ptr<Acl> acl_;
    void* const stream_;
    Launch launch_;
    const bool draws_;
    void* const function_;
    void* const
        sync_address_;  // first argument of a kernel on both kinds of cores, where the chip splits them
    Block block_, table_;
    std::vector<void*> addresses_;  // as they are on their way
};

class AclBackend : public Backend {
  public:
    // `folder` holds ascend_fuse_<npu_arch>.o, one for each chip that it was built for.
    static Result<std::unique_ptr<AclBackend>> open(std::shared_ptr<Acl> acl, const std::string& folder,
                                                    int device) {
        if (auto error = acl->use(device)) return *error;
        auto backend = std::make_unique<AclBackend>();
        backend->acl_ = std::move(acl);
        backend->folder_ = folder;
        const AclCalls& calls = backend->acl_->calls();
        if (auto error =
                backend->acl_->failed(calls.aclrtCreateStream(&backend->stream_), "aclrtCreateStream"))
            return *error;
        return backend;
    }
    ~AclBackend() override {
        if (!acl_) return;
        if (acl_->enter()) return;
        for (const auto& [arch, binary] : binaries_) acl_->calls().aclrtBinaryUnLoad(binary);
        if (stream_) acl_->calls().aclrtDestroyStream(stream_);
    }

    // As the device says, such as Ascend910B3.
    std::string soc_name() const {
        const char* const name = acl_->calls().aclrtGetSocName();
        return name ? name : "";
    }
    const char* name() const override { return "acl"; }
    bool concurrent() const override {
        return false;
    }  // launch blocks and tables are written again for each run
    bool own_memory() const override { return true; }
    std::optional<Error> upload(void* to, const void* from, int64_t bytes) override {
        return acl_->copy(to, true, from, false, bytes);
    }
    void* allocate(int64_t bytes) override { return acl_->allocate(bytes); }
    void release(void* address) override { acl_->release(address); }

    Result<std::shared_ptr<PreparedLaunch>> prepare(Launch launch, const Soc& soc) override {
        auto function = function_of(launch, soc);
        if (!function) return function.error();
        void* sync_address = nullptr;
        if (launch.mixed && soc.npu_arch == 2201) {
            const int code = acl_->calls().aclrtGetHardwareSyncAddr(&sync_address);
            if (auto error = acl_->failed(code, "aclrtGetHardwareSyncAddr")) return *error;
        }
        auto prepared =
            std::make_shared<AclLaunch>(*this, acl_, stream_, std::move(launch), *function, sync_address);
        if (auto error = prepared->load()) return *error;
        return std::shared_ptr<PreparedLaunch>(std::move(prepared));
    }

    // Another provider may have written the inputs on a stream that we do not know.
    std::optional<Error> begin() override {
        if (auto error = acl_->enter()) return error;
        return acl_->failed(acl_->calls().aclrtSynchronizeDevice(), "aclrtSynchronizeDevice");
    }
    std::optional<Error> finish(Traffic& traffic) override {
        const Stopwatch watch(traffic.kernel_ticks);
        return acl_->failed(acl_->calls().aclrtSynchronizeStream(stream_), "aclrtSynchronizeStream");
    }

  private:
    Result<void*> function_of(const Launch& launch, const Soc& soc) {
        const std::lock_guard<std::mutex> lock(mutex_);
        void*& binary = binaries_[soc.npu_arch];
        const std::string path = folder_ + "/ascend_fuse_" + std::to_string(soc.npu_arch) + ".o";
        if (!binary) {
            const int code = acl_->calls().aclrtBinaryLoadFromFile(path.c_str(), nullptr, &binary);
            if (auto error = acl_->failed(code, "loading " + path)) {
                binary = nullptr;
                return *error;
            }
        }
        const std::string kernel = std::string("ascend_fuse_") + ascend_fuse::name(launch.family);
        void* function = nullptr;
        const int code = acl_->calls().aclrtBinaryGetFunction(binary, kernel.c_str(), &function);
        if (auto error = acl_->failed(code, "finding " + kernel + " in " + path)) return *error;
        return function;
    }

    std::shared_ptr<Acl> acl_;
    std::string folder_;
    void* stream_ = nullptr;
    std::mutex mutex_;
    std::map<int64_t, void*> binaries_;  // by npu_arch
};

}  // namespace ascend_fuse
