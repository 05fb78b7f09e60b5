// Cores that touch the same bytes of GM without an order between them, found when all have ended.
#pragma once

#include <algorithm>
#include <string>

#include "core.h"

namespace ascend_fuse::emulator {

// What a core left behind.
struct Trace {
    std::string name;
    std::vector<Access> accesses;
    std::vector<Knowledge> states;
    int64_t first = 0;  // the core, of all, that its knowledge begins with
};

class RaceSearch {
  public:
    RaceSearch(const std::vector<Trace>& traces, uint64_t line)
        : traces_(traces), line_(static_cast<int64_t>(line)) {}

    // The first pair that is found, in words; empty if there is none.
    std::string find(int32_t region, const uint8_t* base) {
        base_ = base;
        spans_.clear();
        for (const auto& trace : traces_)
            for (const auto& access : trace.accesses)
                if (access.region == region) add(access);
        std::sort(spans_.begin(), spans_.end(),
                  [](const Span& a, const Span& b) { return a.begin < b.begin; });
        std::vector<const Span*> reads, writes;
        for (const auto& span : spans_) {
            const auto over = [&](const Span* other) { return other->end <= span.begin; };
            writes.erase(std::remove_if(writes.begin(), writes.end(), over), writes.end());
            for (const Span* other : writes)
                if (races(*other, span)) return text(*other, span);
            if (span.access->write) {
                reads.erase(std::remove_if(reads.begin(), reads.end(), over), reads.end());
                for (const Span* other : reads)
                    if (races(*other, span)) return text(*other, span);
            }
            (span.access->write ? writes : reads).push_back(&span);
        }
        return "";
    }

  private:
    struct Span {
        int64_t begin, end;
        const Access* access;
        bool line;  // the rest of a cache line that goes to GM with a scalar store
    };

    void add(const Access& access) {
        const Runs& runs = access.runs;
        const bool joined = runs.count == 1 || runs.pitch == runs.bytes;
        for (int64_t i = 0; i < (joined ? 1 : runs.count); ++i) {
            const int64_t begin = runs.begin + i * runs.pitch;
            spans_.push_back(
                {begin, begin + (joined ? runs.bytes * runs.count : runs.bytes), &access, false});
        }
        if (!access.cached) return;
        const auto address = reinterpret_cast<int64_t>(base_);
        const int64_t begin = (address + runs.begin) / line_ * line_ - address;
        spans_.push_back({begin, begin + line_, &access, true});
    }
    // `a` happens before `b`.
    bool before(const Access& a, const Access& b) const {
        if (a.core == b.core) return b.seen[a.pipe] >= a.epoch;
        const Trace& trace = traces_[static_cast<size_t>(b.core)];
        const Knowledge& known = trace.states[static_cast<size_t>(b.known)];
        const int64_t at = a.core - trace.first;  // its block's cores alone where blocks ran alone
        return at >= 0 && at < static_cast<int64_t>(known.size()) &&
               known[static_cast<size_t>(at)][a.pipe] >= a.epoch;
    }
    bool races(const Span& a, const Span& b) const {
        const Access &x = *a.access, &y = *b.access;
        if (x.core == y.core && x.pipe == y.pipe && x.epoch == y.epoch) return false;
        if ((a.line && !y.write) || (b.line && !x.write)) return false;
        return !before(x, y) && !before(y, x);
    }
    std::string text(const Span& a, const Span& b) const {
        const auto one = [&](const Span& span) {
            const Access& access = *span.access;
            return std::string(access.call) + " of " + traces_[static_cast<size_t>(access.core)].name +
                   " at " + access.at.text() + (access.write ? " writes" : " reads") +
                   (span.line ? " the cache line" : "");
        };
        const auto at =
            reinterpret_cast<uint64_t>(base_) + static_cast<uint64_t>(std::max<int64_t>(0, b.begin));
        return one(a) + ", " + one(b) + " GM " + hexadecimal(at) + " of tensor " +
               std::to_string(a.access->region) + ", and nothing puts them in order";
    }

    const std::vector<Trace>& traces_;
    int64_t line_;
    const uint8_t* base_ = nullptr;
    std::vector<Span> spans_;
};

}  // namespace ascend_fuse::emulator
