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
#include "session.h"

namespace ascend_fuse {

inline constexpr size_t kept_schedules = 16;  // of one node; the one not used for longest goes

struct NodeText {
    std::string name, program, soc;  // soc: the chip that it was planned for
    bool fuse = true;                // its attribute fuse_enable
};

class Node {
  public:
    // A schedule for one run. That of the node's last run is handed on from run to run without a lock and
    // without counting who holds it: one caller at a time has it, others look theirs up.
    class Lease {
      public:
        Lease(Node& node, std::shared_ptr<const Schedule> schedule, bool last)
            : node_(&node), schedule_(std::move(schedule)), last_(last) {}
        Lease(Lease&& other) noexcept
            : node_(std::exchange(other.node_, nullptr)),
              schedule_(std::move(other.schedule_)),
              last_(other.last_) {}
        Lease& operator=(Lease&&) = delete;
        ~Lease() {
            if (node_) node_->give_back(std::move(schedule_), last_);
        }
        const Schedule& operator*() const { return *schedule_; }

      private:
        Node* node_;
        std::shared_ptr<const Schedule> schedule_;
        bool last_;  // whether it was taken from `last_` of the node, which others leave alone meanwhile
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
          key_(node_key(session_->key(), name_)) {}

    // From here on it appears among the counters.
    void open_counter() {
        counter_ = Ledger::of_process().open(session_->number(), name_, ascend_fuse::name(program_.family));
    }
    // Precondition: open_counter was called.
    std::string counter_json() const { return counter_->json(); }
    Backend& backend() { return session_->backend(); }
    const Program& program() const { return program_; }
    const Target& target() const { return target_; }

    // What runs for tensors of these sizes and dtypes; addresses are not looked at.
    Result<std::shared_ptr<const Schedule>> schedule(const std::vector<Tensor>& inputs) {
        const std::lock_guard<std::mutex> lock(mutex_);
        for (auto at = kept_.begin(); at != kept_.end(); ++at) {
            if (!fits(**at, inputs)) continue;
            if (at != kept_.begin()) kept_.splice(kept_.begin(), kept_, at);
            return kept_.front();
        }
        auto made = make_schedule(program_, inputs, target_, session_->backend());
        if (!made) return made.error();
        kept_.push_front(std::make_shared<const Schedule>(std::move(*made)));
        if (kept_.size() > kept_schedules) kept_.pop_back();
        return kept_.front();
    }

    // The same for one run; to be given up before the node.
    Result<Lease> lease(const std::vector<Tensor>& inputs) {
        if (!taken_.exchange(true, std::memory_order_acquire)) {
            if (last_ && fits(*last_, inputs)) return Lease(*this, std::move(last_), true);
            taken_.store(false, std::memory_order_release);
        }
        auto found = schedule(inputs);
        if (!found) return found.error();
        return Lease(*this, std::move(*found), false);
    }

    // Precondition: `schedule` is that of `inputs`; `outputs` as its outputs, with addresses.
    std::optional<Error> run(const Schedule& schedule, const std::vector<Tensor>& inputs,
                             const std::vector<Tensor>& outputs, const ParallelFor& parallel) {
        Count count{1, schedule.fused ? 1 : 0, {}};
        Observer* const observer = session_->observer();
        const int64_t start_ns = observer ? now_ns() : 0;
        const Draw draw{key_, runs_.fetch_add(1, std::memory_order_relaxed)};
        auto error =
            run_stages(schedule, inputs, outputs, draw, session_->backend(), parallel, count.traffic);
        if (error) return Error{0, name_ + ": " + error->message};
        if (counter_) counter_->add(count, schedule.verdict);
        if (observer) observer->note(Event{name_, start_ns, now_ns(), count});
        return std::nullopt;
    }

  private:
    static int64_t now_ns() {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    }

    void give_back(std::shared_ptr<const Schedule> schedule, bool last) {
        if (!last && taken_.exchange(true, std::memory_order_acquire)) return;
        last_ = std::move(schedule);
        taken_.store(false, std::memory_order_release);
    }

    bool fits(const Schedule& schedule, const std::vector<Tensor>& inputs) const {
        if (schedule.inputs.size() != inputs.size()) return false;
        for (size_t i = 0; i < inputs.size(); ++i)
            if (!program_.inputs[i].host && !(schedule.inputs[i] == inputs[i])) return false;
        return true;
    }

    const std::string name_;
    const Program program_;
    const Target target_;
    const std::shared_ptr<Session> session_;
    std::shared_ptr<NodeCounter> counter_;
    const uint64_t key_;
    std::atomic<uint64_t> runs_{0};
    std::atomic<bool> taken_{false};                   // whether somebody uses `last_`
    std::shared_ptr<const Schedule> last_;             // of the last run; empty while that runs
    std::mutex mutex_;                                 // of what follows
    std::list<std::shared_ptr<const Schedule>> kept_;  // most recent first
};

}  // namespace ascend_fuse
