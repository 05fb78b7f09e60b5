// Streams of the device for ONNX Runtime: what it runs on one of them is queued, and it says who waits for
// whom.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "device_memory.h"
#include "ort.h"

namespace ascend_fuse::plugin {

class Stream : public OrtSyncStreamImpl {
  public:
    static OrtStatus* make(const Ort& ort, std::shared_ptr<DeviceMemory> memory, OrtSyncStreamImpl** stream) {
        const Acl& acl = memory->acl();
        if (auto error = acl.enter()) return ort.status(error);
        void* handle = nullptr;
        const int code = acl.calls().aclrtCreateStream(&handle);
        if (auto error = acl.failed(code, "aclrtCreateStream")) return ort.status(error);
        *stream = new Stream(ort, std::move(memory), handle);
        return nullptr;
    }

  private:
    class Notification;

    Stream(const Ort& ort, std::shared_ptr<DeviceMemory> memory, void* handle)
        : OrtSyncStreamImpl{}, ort_(ort), memory_(std::move(memory)), handle_(handle) {
        ort_version_supported = ort.version;
        Release = [](OrtSyncStreamImpl* self) noexcept { delete static_cast<Stream*>(self); };
        GetHandle = [](OrtSyncStreamImpl* self) noexcept { return static_cast<Stream*>(self)->handle_; };
        CreateNotification = [](OrtSyncStreamImpl* self, OrtSyncNotificationImpl** made) noexcept {
            auto& own = *static_cast<Stream*>(self);
            return own.ort_.guarded([&] { return own.notify(made); });
        };
        Flush = [](OrtSyncStreamImpl* self) noexcept {
            auto& own = *static_cast<Stream*>(self);
            return own.ort_.guarded([&] { return own.ort_.status(own.memory_->wait(own.handle_)); });
        };
        // Waits, since of an error in `Flush` nobody but the log is told.
        OnSessionRunEnd = [](OrtSyncStreamImpl* self) noexcept {
            auto& own = *static_cast<Stream*>(self);
            return own.ort_.guarded([&] { return own.ort_.status(own.end_run()); });
        };
    }
    ~Stream() {
        // A stream that does not answer is left alone.
        if (!memory_->forget(handle_)) memory_->acl().calls().aclrtDestroyStream(handle_);
    }

    OrtStatus* notify(OrtSyncNotificationImpl** made);

    // Of a notification ONNX Runtime only logs what went wrong, and the run goes on with what is not there
    // yet.
    OrtStatus* fault(const std::optional<Error>& error) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (!fault_) fault_ = error;
        return ort_.status(error);
    }

    std::optional<Error> end_run() {
        const auto error = memory_->end_run(handle_);
        const std::lock_guard<std::mutex> lock(mutex_);
        const auto fault = std::exchange(fault_, std::nullopt);
        return fault ? fault : error;
    }

    const Ort& ort_;
    const std::shared_ptr<DeviceMemory> memory_;
    void* const handle_;
    std::mutex mutex_;
    std::optional<Error> fault_;  // of the run; under the lock
};

// What was queued on a stream when it was activated.
class Stream::Notification : public OrtSyncNotificationImpl {
  public:
    Notification(Stream& stream, void* event) : OrtSyncNotificationImpl{}, stream_(stream), event_(event) {
        ort_version_supported = stream.ort_.version;
        Release = [](OrtSyncNotificationImpl* self) noexcept { delete static_cast<Notification*>(self); };
        Activate = [](OrtSyncNotificationImpl* self) noexcept {
            auto& own = *static_cast<Notification*>(self);
            return own.call("aclrtRecordEvent", [&](const AclCalls& calls) {
                return calls.aclrtRecordEvent(own.event_, own.stream_.handle_);
            });
        };
        // The host's own stream, which has no handle, waits on the device too
        // (github.com/microsoft/onnxruntime/pull/27272).
        WaitOnDevice = [](OrtSyncNotificationImpl* self, OrtSyncStream* consumer) noexcept {
            auto& own = *static_cast<Notification*>(self);
            void* const handle = consumer ? own.stream_.ort_.api->SyncStream_GetHandle(consumer) : nullptr;
            return handle ? own.hold(handle) : own.wait();
        };
        WaitOnHost = [](OrtSyncNotificationImpl* self) noexcept {
            return static_cast<Notification*>(self)->wait();
        };
    }
    ~Notification() { acl().calls().aclrtDestroyEvent(event_); }

  private:
    const Acl& acl() const { return stream_.memory_->acl(); }

    OrtStatus* wait() const noexcept {
        return call("aclrtSynchronizeEvent",
                    [&](const AclCalls& calls) { return calls.aclrtSynchronizeEvent(event_); });
    }
    OrtStatus* hold(void* consumer) const noexcept {
        stream_.memory_->share(stream_.handle_);
        return call("aclrtStreamWaitEvent",
                    [&](const AclCalls& calls) { return calls.aclrtStreamWaitEvent(consumer, event_); });
    }

    template <class Call>
    OrtStatus* call(const char* name, const Call& wanted) const noexcept {
        return stream_.ort_.guarded([&]() -> OrtStatus* {
            if (const auto error = acl().enter()) return stream_.fault(error);
            return stream_.fault(acl().failed(wanted(acl().calls()), name));
        });
    }

    Stream& stream_;
    void* const event_;
};

inline OrtStatus* Stream::notify(OrtSyncNotificationImpl** made) {
    constexpr uint32_t between_streams = 1;  // ACL_EVENT_SYNC
    const Acl& acl = memory_->acl();
    if (auto error = acl.enter()) return ort_.status(error);
    void* event = nullptr;
    const int code = acl.calls().aclrtCreateEventExWithFlag(&event, between_streams);
    if (auto error = acl.failed(code, "aclrtCreateEventExWithFlag")) return ort_.status(error);
    *made = new Notification(*this, event);
    return nullptr;
}

}  // namespace ascend_fuse::plugin
