// What fused nodes did: counted by node, kept by the library until someone resets it, read as JSON.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend.h"
#include "spin_lock.h"

namespace ascend_fuse {

struct Count {
    int64_t runs = 0, fused_runs = 0;
    Traffic traffic;

    void add(const Count& other) {
        runs += other.runs;
        fused_runs += other.fused_runs;
        traffic.launches += other.traffic.launches;
        traffic.loaded_bytes += other.traffic.loaded_bytes;
        traffic.stored_bytes += other.traffic.stored_bytes;
        traffic.distinct_loaded_bytes += other.traffic.distinct_loaded_bytes;
        traffic.distinct_stored_bytes += other.traffic.distinct_stored_bytes;
        traffic.ub_peak = std::max(traffic.ub_peak, other.traffic.ub_peak);
    }
};

// Of one node of one session.
class NodeCounter {
  public:
    NodeCounter(int64_t session, std::string node, std::string family)
        : session_(session), node_(std::move(node)), family_(std::move(family)) {}

    void add(const Count& count, const std::shared_ptr<const std::string>& verdict) {
        const std::lock_guard<SpinLock> lock(lock_);
        count_.add(count);
        if (verdict_ != verdict) verdict_ = verdict;
    }
    void reset() {
        const std::lock_guard<SpinLock> lock(lock_);
        count_ = Count();
    }
    Count count() const {
        const std::lock_guard<SpinLock> lock(lock_);
        return count_;
    }
    std::string json() const;

  private:
    mutable SpinLock lock_;
    Count count_;
    std::shared_ptr<const std::string> verdict_;  // of the last run's shapes; null before any
    const int64_t session_;
    const std::string node_, family_;
};

inline std::string quoted(const std::string& text) {
    std::string json = "\"";
    for (const char c : text) {
        char escaped[8];
        std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned char>(c));
        if (c == '"' || c == '\\')
            json += std::string("\\") + c;
        else if (static_cast<unsigned char>(c) < 0x20)
            json += escaped;
        else
            json += c;
    }
    return json + "\"";
}

inline std::string fields(const Count& count) {
    return "\"runs\": " + std::to_string(count.runs) +
           ", \"fused_runs\": " + std::to_string(count.fused_runs) +
           ", \"launches\": " + std::to_string(count.traffic.launches) +
           ", \"loaded_bytes\": " + std::to_string(count.traffic.loaded_bytes) +
           ", \"stored_bytes\": " + std::to_string(count.traffic.stored_bytes) +
           ", \"distinct_loaded_bytes\": " + std::to_string(count.traffic.distinct_loaded_bytes) +
           ", \"distinct_stored_bytes\": " + std::to_string(count.traffic.distinct_stored_bytes) +
           ", \"ub_peak\": " + std::to_string(count.traffic.ub_peak);
}

inline std::string NodeCounter::json() const {
    lock_.lock();
    const Count count = count_;
    const auto verdict = verdict_;
    lock_.unlock();
    return "{\"session\": " + std::to_string(session_) + ", \"node\": " + quoted(node_) +
           ", \"family\": " + quoted(family_) + ", " + fields(count) +
           ", \"verdict\": " + quoted(verdict ? *verdict : "") + "}";
}

// All nodes of all sessions of the process. Nodes of sessions that ended stay until a reset.
class Ledger {
  public:
    static Ledger& of_process() {
        static Ledger* const ledger = new Ledger();  // outlives whatever is torn down at exit
        return *ledger;
    }
    std::shared_ptr<NodeCounter> open(int64_t session, std::string node, std::string family) {
        const std::lock_guard<std::mutex> lock(mutex_);
        nodes_.push_back(std::make_shared<NodeCounter>(session, std::move(node), std::move(family)));
        return nodes_.back();
    }
    int64_t next_session() {
        const std::lock_guard<std::mutex> lock(mutex_);
        return ++sessions_;
    }
    void reset() {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::vector<std::shared_ptr<NodeCounter>> kept;
        for (auto& node : nodes_)
            if (node.use_count() > 1) kept.push_back(node);
        for (auto& node : kept) node->reset();
        nodes_ = std::move(kept);
    }
    std::string json() const {
        const std::lock_guard<std::mutex> lock(mutex_);
        Count total;
        std::string lines;
        for (const auto& node : nodes_) {
            lines += (lines.empty() ? "" : ", ") + node->json();
            total.add(node->count());
        }
        return "{\"total\": {" + fields(total) + "}, \"nodes\": [" + lines + "]}";
    }

  private:
    mutable std::mutex mutex_;
    std::vector<std::shared_ptr<NodeCounter>> nodes_;
    int64_t sessions_ = 0;
};

}  // namespace ascend_fuse
