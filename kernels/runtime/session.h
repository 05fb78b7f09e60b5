// What the nodes of one session share: chip, bounds, backend, the key of its random numbers.
#pragma once

#include <atomic>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <utility>

#include "acl_backend.h"
#include "backend.h"
#include "counters.h"
#include "emulator_backend.h"
#include "ini.h"
#include "options.h"
#include "schedule.h"

namespace ascend_fuse {

// A chip by name, or from a CANN platform_config file at that path.
inline Result<Soc> load_soc(const std::string& name) {
    if (name.size() < 4 || name.compare(name.size() - 4, 4, ".ini") != 0) return find_soc(name);
    std::ifstream file(name);
    if (!file) return Error{0, "cannot read the platform file " + name};
    std::stringstream text;
    text << file.rdbuf();
    return read_ini(text.str(), name);
}

// What took place and when.
struct Event {
    std::string name;
    int64_t start_ns = 0, end_ns = 0;  // of std::chrono::steady_clock
    Count count;
};

// Is told on the thread that did it, while it wants to know.
class Observer {
  public:
    virtual ~Observer() = default;
    virtual bool active() const = 0;
    virtual void note(const Event& event) = 0;
};

class Session {
  public:
    // `memory`: null where libascendcl is not installed.
    static Result<std::shared_ptr<Session>> open(const Options& options,
                                                 std::shared_ptr<DeviceMemory> memory) {
        auto session = std::make_shared<Session>();
        session->options_ = options;
        session->number_ = Ledger::of_process().next_session();
        if (options.backend == "acl") {
            if (!memory)
                return Error{0, std::string("option backend is acl, and there is no ") + acl_library};
            auto device = AclBackend::open(std::move(memory), options.kernels_dir, options.device_id);
            if (!device) return device.error();
            if (session->options_.soc.empty()) session->options_.soc = (*device)->soc_name();
            session->backend_ = std::move(*device);
        } else {
            session->backend_ = std::make_unique<EmulatorBackend>();
        }
        if (!session->options_.soc.empty()) {
            auto soc = load_soc(session->options_.soc);
            if (!soc) return soc.error();
            session->soc_ = std::move(*soc);
        }
        std::random_device source;
        session->key_ = options.seeded ? static_cast<uint64_t>(options.seed)
                                       : static_cast<uint64_t>(source()) << 32 | source();
        return session;
    }

    // The session's chip, else the one that the node was planned for.
    Result<Soc> soc_of(const std::string& planned) const {
        if (soc_) return *soc_;
        if (planned.empty()) return Error{0, "no chip: give option soc"};
        return load_soc(planned);
    }
    const Options& options() const { return options_; }
    Backend& backend() { return *backend_; }
    int64_t number() const { return number_; }
    uint64_t key() const { return key_; }
    // Set before anything runs.
    void observe(std::shared_ptr<Observer> observer) { observer_ = std::move(observer); }
    // Null while nobody wants to know.
    Observer* observer() const { return observer_ && observer_->active() ? observer_.get() : nullptr; }

  private:
    Options options_;
    std::optional<Soc> soc_;
    std::unique_ptr<Backend> backend_;
    int64_t number_ = 0;
    uint64_t key_ = 0;
    std::shared_ptr<Observer> observer_;
};

}  // namespace ascend_fuse
