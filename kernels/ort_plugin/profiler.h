// Events of fused nodes for ONNX Runtime's profile (OrtEp::CreateProfiler, 1.25 and later).
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "node.h"
#include "ort.h"

namespace ascend_fuse::plugin {

class Profiler;

// The profilers of a provider that are recording.
class Recording : public Observer {
  public:
    void add(Profiler* profiler) {
        const std::lock_guard<std::mutex> lock(mutex_);
        profilers_.push_back(profiler);
        active_ = true;
    }
    void remove(Profiler* profiler) {
        const std::lock_guard<std::mutex> lock(mutex_);
        profilers_.erase(std::remove(profilers_.begin(), profilers_.end(), profiler), profilers_.end());
        active_ = !profilers_.empty();
    }
    bool active() const override { return active_; }
    void note(const Event& event) override;

  private:
    std::mutex mutex_;
    std::vector<Profiler*> profilers_;
    std::atomic<bool> active_{false};
};

class Profiler : public OrtEpProfilerImpl {
  public:
    Profiler(const Ort& ort, std::shared_ptr<Recording> recording)
        : OrtEpProfilerImpl{}, ort_(ort), recording_(std::move(recording)) {
        ort_version_supported = ort.version;
        OrtEpProfilerImpl::Release = [](OrtEpProfilerImpl* self) noexcept {
            delete static_cast<Profiler*>(self);
        };
        StartProfiling = [](OrtEpProfilerImpl* self, int64_t offset_ns) noexcept -> OrtStatus* {
            auto& own = *static_cast<Profiler*>(self);
            return own.ort_.guarded([&] { return own.start(offset_ns); });
        };
        EndProfiling = [](OrtEpProfilerImpl* self,
                          OrtProfilingEventsContainer* container) noexcept -> OrtStatus* {
            auto& own = *static_cast<Profiler*>(self);
            return own.ort_.guarded([&] { return own.end(container); });
        };
    }
    ~Profiler() { recording_->remove(this); }

    // Only called by a Recording, under its lock.
    void record(const Event& event) { events_.push_back(event); }

  private:
    OrtStatus* start(int64_t offset_ns) {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        shift_ns_ = offset_ns - std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
        recording_->add(this);
        return nullptr;
    }

    OrtStatus* end(OrtProfilingEventsContainer* container) {
        recording_->remove(this);
        for (const Event& event : events_) {
            OrtProfilingEvent* made = nullptr;
            ASCEND_FUSE_TRY(make(event, &made));
            const OrtProfilingEvent* const one[] = {made};
            OrtStatus* const status = ort_.ep->ProfilingEventsContainer_AddEvents(container, one, 1);
            ort_.ep->ReleaseProfilingEvent(made);
            ASCEND_FUSE_TRY(status);
        }
        events_.clear();
        return nullptr;
    }

    OrtStatus* make(const Event& event, OrtProfilingEvent** made) const {
        const char* const keys[] = {"provider", "launches", "loaded_bytes", "stored_bytes"};
        const std::string texts[] = {provider_name, std::to_string(event.count.traffic.launches),
                                     std::to_string(event.count.traffic.loaded_bytes),
                                     std::to_string(event.count.traffic.stored_bytes)};
        const char* values[4];
        for (size_t i = 0; i < 4; ++i) values[i] = texts[i].c_str();
        return ort_.ep->CreateProfilingEvent(OrtProfilingEventCategory_KERNEL, -1, -1, event.name.c_str(),
                                             (event.start_ns + shift_ns_) / 1000,
                                             (event.end_ns - event.start_ns) / 1000, keys, values, 4, made);
    }

    const Ort& ort_;
    const std::shared_ptr<Recording> recording_;
    int64_t shift_ns_ = 0;  // from our clock to the profile's
    std::vector<Event> events_;
};

inline void Recording::note(const Event& event) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Profiler* profiler : profilers_) profiler->record(event);
}

}  // namespace ascend_fuse::plugin
