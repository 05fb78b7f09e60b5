// A fused node of a session: its program is parsed once, what it runs is made once for the sizes of its
// tensors.
#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "random.h"
#include "run.h"
#include "session.h"

namespace ascend_fuse {

inline constexpr size_t kept_schedules = 16;  // of one node; the one not used for longest goes

struct NodeText {
    std::string name, program, soc;  // soc: the chip that it was planned for
    bool fuse = true;                // its attribute fuse_enable
};

class Node {
  public:
    // Lends a run. The first of a node is handed on without a lock: one caller at a time has it, those beside
    // it get one from a list.
    class Lease {
      public:
        explicit Lease(Node& node)
            : node_(node), own_(node.first_lock_.try_lock() ? nullptr : node.take_beside()) {}
        Lease(const Lease&) = delete;
        Lease& operator=(const Lease&) = delete;
        ~Lease() {
            if (own_)
                node_.give_back(std::move(own_));
            else
                node_.first_lock_.unlock();
        }
        Run& operator*() const { return own_ ? *own_ : node_.first_; }

      private:
        Node& node_;
        std::unique_ptr<Run> own_;  // null: the node's first
    };

    static Result<std::shared_ptr<Node>> make(const NodeText& text, std::shared_ptr<Session> session) {
        auto program = parse(text.program);
        if (!program) return Error{0, "program: " + program.error().text()};
        auto soc = session->soc_of(text.soc);
        if (!soc) return soc.error();
        const Options& options = session->options();
        Target target{std::move(*soc), options.bounds, options.fuse && text.fuse};
        return std::make_shared<Node>(text.name, std::move(*program), std::move(target), std::move(session));
    }

    Node(std::string name, Program program, Target target, std::shared_ptr<Session> session)
        : name_(std::move(name)),
          program_(std::move(program)),
          target_(std::move(target)),
          session_(std::move(session)),
          key_(node_key(session_->key(), name_)),
          first_(program_.inputs.size()) {}

    // From here on it appears among the counters.
    void open_counter() {
        counter_ = Ledger::of_process().open(session_->number(), name_, ascend_fuse::name(program_.family));
    }
    // Precondition: open_counter was called.
    std::string counter_json() const { return counter_->json(); }
    Backend& backend() { return session_->backend(); }
    const Program& program() const { return program_; }
    const Target& target() const { return target_; }

    // Makes what is to run for the inputs' sizes and dtypes; addresses are not looked at.
    std::optional<Error> prepare(Run& run) {
        if (run.fits()) return std::nullopt;
        auto found = schedule(run);
        if (!found) return Error{0, name_ + ": " + found.error().message};
        run.use(std::move(*found));
        return std::nullopt;
    }

    // Precondition: it was prepared, and its outputs have addresses.
    std::optional<Error> execute(Run& run, const Caller& caller) {
        const Schedule& schedule = run.schedule();
        Count count{1, schedule.fused ? 1 : 0, {}};
        Observer* const observer = session_->observer();
        const int64_t start_ns = observer ? now_ns() : 0;
        const Draw draw{key_, schedule.draws ? runs_.fetch_add(1, std::memory_order_relaxed) : 0};
        if (auto error = run.execute(draw, session_->backend(), caller, count.traffic))
            return Error{0, name_ + ": " + error->message};
        if (counter_) counter_->add(count, schedule.verdict);
        if (observer) observer->note(Event{name_, start_ns, now_ns(), count});
        return std::nullopt;
    }

  private:
    static int64_t now_ns() {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    }

    Result<std::shared_ptr<const Schedule>> schedule(const Run& run) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (auto at = kept_.begin(); at != kept_.end(); ++at) {
            if (!run.fits(**at)) continue;
            if (at != kept_.begin()) kept_.splice(kept_.begin(), kept_, at);
            return kept_.front();
        }
        auto made = make_schedule(program_, run.inputs, target_, session_->backend());
        if (!made) return made.error();
        kept_.push_front(std::make_shared<const Schedule>(std::move(*made)));
        if (kept_.size() > kept_schedules) kept_.pop_back();
        return kept_.front();
    }

    std::unique_ptr<Run> take_beside() {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (beside_.empty()) return std::make_unique<Run>(program_.inputs.size());
        auto run = std::move(beside_.back());
        beside_.pop_back();
        return run;
    }

    void give_back(std::unique_ptr<Run> run) {
        const std::lock_guard<std::mutex> lock(mutex_);
        beside_.push_back(std::move(run));
    }

    const std::string name_;
    const Program program_;
    const Target target_;
    const std::shared_ptr<Session> session_;
    std::shared_ptr<NodeCounter> counter_;
    const uint64_t key_;
    std::atomic<uint64_t> runs_{0};
    SpinLock first_lock_;
    Run first_;                                        // of whoever has its lock
    std::mutex mutex_;                                 // of what follows
    std::vector<std::unique_ptr<Run>> beside_;         // for callers beside the one that has the first
    std::list<std::shared_ptr<const Schedule>> kept_;  // most recent first
};

}  // namespace ascend_fuse
