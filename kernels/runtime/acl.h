// The AscendCL runtime, found when the process runs: nothing here needs CANN to be built. Calls are those of
// CANN 8.1 and newer as the public documentation has them; no device has run them yet.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "result.h"

namespace ascend_fuse {

inline constexpr const char* acl_library = "libascendcl.so";

// The calls that we make; a missing one is named by `load`.
struct AclCalls {
    int (*aclInit)(const char* config);
    const char* (*aclGetRecentErrMsg)();
    const char* (*aclrtGetSocName)();
    int (*aclrtSetDevice)(int32_t device);
    int (*aclrtCreateStream)(void** stream);
    int (*aclrtDestroyStream)(void* stream);
    int (*aclrtSynchronizeStream)(void* stream);
    int (*aclrtSynchronizeDevice)();
    int (*aclrtCreateEventExWithFlag)(void** event, uint32_t flag);
    int (*aclrtDestroyEvent)(void* event);
    int (*aclrtRecordEvent)(void* event, void* stream);
    int (*aclrtStreamWaitEvent)(void* stream, void* event);
    int (*aclrtSynchronizeEvent)(void* event);
    int (*aclrtMalloc)(void** address, size_t bytes, int policy);
    int (*aclrtFree)(void* address);
    int (*aclrtMemcpy)(void* to, size_t room, const void* from, size_t bytes, int kind);
    int (*aclrtBinaryLoadFromFile)(const char* path, void* options, void** binary);
    int (*aclrtBinaryUnLoad)(void* binary);
    int (*aclrtBinaryGetFunction)(void* binary, const char* name, void** function);
    int (*aclrtKernelArgsInit)(void* function, void** arguments);
    int (*aclrtKernelArgsAppend)(void* arguments, void* value, size_t bytes, void** parameter);
    int (*aclrtKernelArgsAppendPlaceHolder)(void* arguments, void** parameter);
    int (*aclrtKernelArgsGetPlaceHolderBuffer)(void* arguments, void* parameter, size_t bytes, void** buffer);
    int (*aclrtKernelArgsFinalize)(void* arguments);
    int (*aclrtLaunchKernelWithConfig)(void* function, uint32_t block_dim, void* stream, void* config,
                                       void* arguments, void* reserved);
    int (*aclrtGetHardwareSyncAddr)(void** address);
};

class Acl {
  public:
    // Error when the library is not installed or lacks a call; `aclInit` waits until a device is used.
    static Result<std::shared_ptr<Acl>> load() {
        void* const library = dlopen(acl_library, RTLD_NOW | RTLD_LOCAL);
        if (!library) return Error{0, std::string("no ") + acl_library + ": " + dlerror()};
        auto acl = std::make_shared<Acl>();
        std::string missing;
        const auto find = [&](auto& call, const char* name) {
            call = reinterpret_cast<std::decay_t<decltype(call)>>(dlsym(library, name));
            if (!call && missing.empty()) missing = name;
        };
#define ASCEND_FUSE_FIND(name) find(acl->calls_.name, #name)
        ASCEND_FUSE_FIND(aclInit);
        ASCEND_FUSE_FIND(aclGetRecentErrMsg);
        ASCEND_FUSE_FIND(aclrtGetSocName);
        ASCEND_FUSE_FIND(aclrtSetDevice);
        ASCEND_FUSE_FIND(aclrtCreateStream);
        ASCEND_FUSE_FIND(aclrtDestroyStream);
        ASCEND_FUSE_FIND(aclrtSynchronizeStream);
        ASCEND_FUSE_FIND(aclrtSynchronizeDevice);
        ASCEND_FUSE_FIND(aclrtCreateEventExWithFlag);
        ASCEND_FUSE_FIND(aclrtDestroyEvent);
        ASCEND_FUSE_FIND(aclrtRecordEvent);
        ASCEND_FUSE_FIND(aclrtStreamWaitEvent);
        ASCEND_FUSE_FIND(aclrtSynchronizeEvent);
        ASCEND_FUSE_FIND(aclrtMalloc);
        ASCEND_FUSE_FIND(aclrtFree);
        ASCEND_FUSE_FIND(aclrtMemcpy);
        ASCEND_FUSE_FIND(aclrtBinaryLoadFromFile);
        ASCEND_FUSE_FIND(aclrtBinaryUnLoad);
        ASCEND_FUSE_FIND(aclrtBinaryGetFunction);
        ASCEND_FUSE_FIND(aclrtKernelArgsInit);
        ASCEND_FUSE_FIND(aclrtKernelArgsAppend);
        ASCEND_FUSE_FIND(aclrtKernelArgsAppendPlaceHolder);
        ASCEND_FUSE_FIND(aclrtKernelArgsGetPlaceHolderBuffer);
        ASCEND_FUSE_FIND(aclrtKernelArgsFinalize);
        ASCEND_FUSE_FIND(aclrtLaunchKernelWithConfig);
        ASCEND_FUSE_FIND(aclrtGetHardwareSyncAddr);
#undef ASCEND_FUSE_FIND
        if (!missing.empty()) return Error{0, std::string(acl_library) + " has no " + missing};
        return acl;
    }

    const AclCalls& calls() const { return calls_; }

    // What a call answered; `what` says which.
    std::optional<Error> failed(int code, const std::string& what) const {
        if (code == 0) return std::nullopt;
        const char* const recent = calls_.aclGetRecentErrMsg();
        return Error{
            0, what + " failed with " + std::to_string(code) + (recent ? std::string(": ") + recent : "")};
    }

    // Once per process, by whoever comes first.
    std::optional<Error> use(int32_t device) {
        constexpr int repeated = 100002;  // ACL_ERROR_REPEAT_INITIALIZE
        const int code = calls_.aclInit(nullptr);
        if (code != repeated)
            if (auto error = failed(code, "aclInit")) return error;
        device_ = device;
        return enter();
    }

    // Each thread says which device it means.
    std::optional<Error> enter() const {
        if (device_ < 0) return Error{0, "no device is in use"};
        return failed(calls_.aclrtSetDevice(device_), "aclrtSetDevice(" + std::to_string(device_) + ")");
    }

  private:
    AclCalls calls_{};
    std::atomic<int32_t> device_{-1};  // the last session's: one device per process
};

}  // namespace ascend_fuse
