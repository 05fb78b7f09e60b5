// Cores that wait for each other: each runs as a fiber of one thread, and goes on when what it waits for is
// there.
#pragma once

#include <ucontext.h>

#include <functional>

#include "core.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace ascend_fuse::emulator {

class Scheduler {
  public:
    // Runs all bodies to their ends. A body may call wait().
    void run(const std::vector<std::function<void()>>& bodies) {
        fibers_.clear();
        for (const auto& body : bodies) {
            fibers_.push_back(std::make_unique<Fiber>());
            Fiber& fiber = *fibers_.back();
            fiber.body = &body;
            fiber.stack.reset(new char[stack_bytes]);
            getcontext(&fiber.context);
            fiber.context.uc_stack.ss_sp = fiber.stack.get();
            fiber.context.uc_stack.ss_size = stack_bytes;
            fiber.context.uc_link = &main_;
            makecontext(&fiber.context, &Scheduler::enter, 0);
        }
        for (bool busy = true; busy;) {
            busy = false;
            const int64_t before = progress_;
            for (auto& fiber : fibers_) {
                if (fiber->done) continue;
                busy = true;
                resume(*fiber);
            }
            stuck_ = progress_ == before;
        }
    }
    // Lets other cores run until the condition holds. Faults when none of them can.
    template <class Ready>
    void wait(Ready ready, const char* what, Where at) {
        Core* const own = running;
        while (!ready()) {
            if (own->launch->needs_all) throw NeedsAll{};
            if (stuck_) fail(FaultKind::deadlock, std::string(what) + " waits for what no core will do", at);
            yield();
            running = own;
        }
        ++progress_;
    }

  private:
    static constexpr size_t stack_bytes = 1 << 18;

    struct Fiber {
        ucontext_t context{};
        std::unique_ptr<char[]> stack;
        const std::function<void()>* body = nullptr;
        bool done = false;
        void* shadow = nullptr;  // the sanitizer's
    };

    static void enter() {
        Scheduler& self = *active_;
        Fiber& fiber = *self.current_;
        self.arrived(nullptr);
        ++self.progress_;
        (*fiber.body)();
        fiber.done = true;
        ++self.progress_;
        self.leave(nullptr, self.main_bottom_, self.main_bytes_);
    }
    void resume(Fiber& fiber) {
        active_ = this;
        current_ = &fiber;
        void* shadow = nullptr;
        leave(&shadow, fiber.stack.get(), stack_bytes);
        swapcontext(&main_, &fiber.context);
        arrived(shadow);
    }
    void yield() {
        Fiber& fiber = *current_;
        leave(&fiber.shadow, main_bottom_, main_bytes_);
        swapcontext(&fiber.context, &main_);
        arrived(fiber.shadow);
    }
    // The address sanitizer wants to know of each change of stacks.
    void leave([[maybe_unused]] void** shadow, [[maybe_unused]] const void* bottom,
               [[maybe_unused]] size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
        __sanitizer_start_switch_fiber(shadow, bottom, bytes);
#endif
    }
    void arrived([[maybe_unused]] void* shadow) {
#if defined(__SANITIZE_ADDRESS__)
        const void* bottom = nullptr;
        size_t bytes = 0;
        __sanitizer_finish_switch_fiber(shadow, &bottom, &bytes);
        const char* const own = current_->stack.get();
        if (bottom != own && bytes != 0) main_bottom_ = bottom, main_bytes_ = bytes;
#endif
    }

    inline static thread_local Scheduler* active_ = nullptr;
    std::vector<std::unique_ptr<Fiber>> fibers_;
    Fiber* current_ = nullptr;
    ucontext_t main_{};
    const void* main_bottom_ = nullptr;
    size_t main_bytes_ = 0;
    int64_t progress_ = 0;
    bool stuck_ = false;
};

}  // namespace ascend_fuse::emulator
