// The cases for Python: runs one by name on arrays.
#include <atomic>
#include <cstring>
#include <thread>

#include "case.h"
#include "emulator.h"

namespace {

using namespace ascend_fuse;

struct Report {
    int64_t loaded, stored, ub_peak, vector_calls;
    int64_t traffic[8][4];  // loaded, stored, distinct loaded, distinct stored, by array
};

// As a thread pool would: two threads take what comes next.
void threaded_for(size_t n, const std::function<void(size_t)>& body) {
    std::atomic<size_t> next{0};
    const auto work = [&] {
        for (size_t i = next++; i < n; i = next++) body(i);
    };
    std::thread other(work);
    work();
    other.join();
}

std::string run_case(const char* name, const char* chip, int64_t cores, bool mixed, int64_t* parameters,
                     void* const* arrays, const std::vector<emulator::TensorAccess>& accesses,
                     Report& report) {
    const auto soc = find_soc(chip);
    if (!soc) return soc.error().text();
    const emulator_case::Case* found = emulator_case::Case::first;
    while (found != nullptr && std::strcmp(found->name, name) != 0) found = found->next;
    if (found == nullptr) return std::string("no case ") + name;
    const auto done =
        emulator::run({found->entry, name, cores, mixed, parameters}, *soc, arrays, accesses, threaded_for);
    if (!done) return done.error().text();
    report.loaded = done->loaded_bytes;
    report.stored = done->stored_bytes;
    report.ub_peak = done->ub_peak;
    report.vector_calls = done->instructions[PIPE_V];
    for (size_t i = 0; i < done->traffic.size() && i < 8; ++i) {
        const auto& traffic = done->traffic[i];
        const int64_t row[4] = {traffic.loaded, traffic.stored, traffic.distinct_loaded,
                                traffic.distinct_stored};
        std::memcpy(report.traffic[i], row, sizeof row);
    }
    return "";
}

}  // namespace

// 0, or 1 with the text of the fault.
extern "C" int emulator_case_run(const char* name, const char* chip, int64_t cores, int mixed,
                                 int64_t* parameters, void** arrays, const int64_t* bytes,
                                 const int* writable, int count, Report* report, char* text,
                                 size_t text_bytes) {
    std::vector<emulator::TensorAccess> accesses;
    for (int i = 0; i < count; ++i) accesses.push_back({bytes[i], writable[i] != 0});
    const std::string fault = run_case(name, chip, cores, mixed != 0, parameters, arrays, accesses, *report);
    std::strncpy(text, fault.c_str(), text_bytes - 1);
    return fault.empty() ? 0 : 1;
}
