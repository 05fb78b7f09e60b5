// A libascendcl.so without a device (acl_stand_in.h). It writes each call down in the file named by
// ACL_STAND_IN_LOG, one line each, and runs a kernel when somebody waits for it, as the plugin
// ACL_STAND_IN_PLUGIN emulates it. ACL_STAND_IN_FAIL names a call that answers 507035, ACL_STAND_IN_FAIL_AT
// which of them (from 1 on; else all).
#include "acl_stand_in.h"

#include <cstdarg>
#include <mutex>

#include "acl_stand_in_kernel.h"

namespace {

using namespace stand_in;

std::recursive_mutex mutex;
Device& device() {
    static Device* const one = new Device;  // outlives whoever calls at the end of the process
    return *one;
}
std::map<std::string, int> numbers;
std::map<void*, std::string> functions;
std::map<void*, Seen> events;

struct Arguments {
    std::vector<void*> values;
    std::vector<void*> table;  // what the placeholder points to
    bool placed = false;       // it stands last
    bool done = false;
};

int note(const char* call, const char* format = "", ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    std::vsnprintf(text, sizeof text, format, list);
    va_end(list);
    Device::log(std::string(call) + " " + text);
    const char* const fail = std::getenv("ACL_STAND_IN_FAIL");
    if (!fail || std::string(fail) != call) return 0;
    const char* const at = std::getenv("ACL_STAND_IN_FAIL_AT");
    return !at || ++numbers[std::string("call ") + call] == std::atoi(at) ? 507035 : 0;
}

// Handles are small numbers behind a base, the same in every run.
void* handle(const char* kind, uintptr_t base) { return reinterpret_cast<void*>(base + ++numbers[kind]); }

}  // namespace

#define LOCKED const std::lock_guard<std::recursive_mutex> lock(mutex)

extern "C" {

int aclInit(const char*) {
    LOCKED;
    static bool done = false;
    const int code = note("aclInit");
    if (code) return code;
    const bool again = done;
    done = true;
    return again ? 100002 : 0;
}
const char* aclGetRecentErrMsg() { return "the stand-in was told to fail"; }
const char* aclrtGetSocName() { return soc(); }
int aclrtSetDevice(int32_t number) {
    LOCKED;
    return note("aclrtSetDevice", "%d", number);
}
int aclrtCreateStream(void** stream) {
    LOCKED;
    *stream = handle("stream", 0x1000);
    const int code = note("aclrtCreateStream", "%p", *stream);
    if (!code) device().open(*stream);
    return code;
}
int aclrtDestroyStream(void* stream) {
    LOCKED;
    device().close(stream);
    return note("aclrtDestroyStream", "%p", stream);
}
int aclrtSynchronizeStream(void* stream) {
    LOCKED;
    const int code = note("aclrtSynchronizeStream", "%p", stream);
    return code ? code : device().synchronize(stream);
}
int aclrtSynchronizeDevice() {
    LOCKED;
    const int code = note("aclrtSynchronizeDevice");
    return code ? code : device().synchronize();
}
int aclrtCreateEventExWithFlag(void** event, uint32_t flag) {
    LOCKED;
    *event = handle("event", 0x5000);
    const int code = note("aclrtCreateEventExWithFlag", "%p %u", *event, flag);
    if (!code) events[*event] = {};
    return code;
}
int aclrtDestroyEvent(void* event) {
    LOCKED;
    events.erase(event);
    return note("aclrtDestroyEvent", "%p", event);
}
int aclrtRecordEvent(void* event, void* stream) {
    LOCKED;
    events[event] = device().state(stream);
    return note("aclrtRecordEvent", "%p %p", event, stream);
}
int aclrtStreamWaitEvent(void* stream, void* event) {
    LOCKED;
    const int code = note("aclrtStreamWaitEvent", "%p %p", stream, event);
    if (!code) device().wait_for(stream, events[event]);
    return code;
}
int aclrtSynchronizeEvent(void* event) {
    LOCKED;
    const int code = note("aclrtSynchronizeEvent", "%p", event);
    return code ? code : device().reach(events[event]);
}
int aclrtMalloc(void** address, size_t bytes, int policy) {
    LOCKED;
    const int code = note("aclrtMalloc", "%zu %d", bytes, policy);
    *address = code ? nullptr : device().allocate(bytes);
    return code ? code : *address ? 0 : 207001;
}
int aclrtFree(void* address) {
    LOCKED;
    const int code = note("aclrtFree", "%d", device().holds(address));
    return device().release(address) ? code : 107000;
}
int aclrtMemcpy(void* to, size_t room, const void* from, size_t bytes, int kind) {
    LOCKED;
    const int code = note("aclrtMemcpy", "%zu %d", bytes, kind);
    if (code) return code;
    const bool from_device = kind >= 2, to_device = kind % 2 == 1;
    if (bytes > room || device().holds(from) != from_device || device().holds(to) != to_device) return 107000;
    const auto part = [&](const void* address, bool on_device) {
        const auto at = reinterpret_cast<uintptr_t>(address);
        return on_device ? std::vector<Range>{{at, at + bytes}} : std::vector<Range>{};
    };
    return device().now({"aclrtMemcpy", part(from, from_device), part(to, to_device), [&] {
                             std::memcpy(to_device ? device().content(to) : to,
                                         from_device ? device().content(from) : from, bytes);
                             return 0;
                         }});
}
int aclrtBinaryLoadFromFile(const char* path, void*, void** binary) {
    LOCKED;
    *binary = handle("binary", 0x2000);
    std::FILE* file = std::fopen(path, "rb");
    if (!file) return 107000;
    std::fclose(file);
    return note("aclrtBinaryLoadFromFile", "%s %p", std::strrchr(path, '/') + 1, *binary);
}
int aclrtBinaryUnLoad(void* binary) {
    LOCKED;
    return note("aclrtBinaryUnLoad", "%p", binary);
}
int aclrtBinaryGetFunction(void* binary, const char* name, void** function) {
    LOCKED;
    *function = handle("function", 0x3000);
    functions[*function] = name;
    return note("aclrtBinaryGetFunction", "%p %s %p", binary, name, *function);
}
int aclrtGetHardwareSyncAddr(void** address) {
    LOCKED;
    *address = reinterpret_cast<void*>(0x4000);
    return note("aclrtGetHardwareSyncAddr");
}
// The list is the thread's and the same for every launch, as in the public runtime.
int aclrtKernelArgsInit(void* function, void** list) {
    LOCKED;
    thread_local Arguments arguments;
    arguments = {};
    *list = &arguments;
    return note("aclrtKernelArgsInit", "%p", function);
}
int aclrtKernelArgsAppend(void* list, void* value, size_t bytes, void** parameter) {
    LOCKED;
    auto& arguments = *static_cast<Arguments*>(list);
    if (bytes != sizeof(void*) || arguments.placed) return 107000;
    arguments.values.push_back(*static_cast<void**>(value));
    *parameter = nullptr;
    return note("aclrtKernelArgsAppend", "%zu %s", bytes,
                device().holds(arguments.values.back()) ? "device" : "other");
}
int aclrtKernelArgsAppendPlaceHolder(void* list, void** parameter) {
    LOCKED;
    static_cast<Arguments*>(list)->placed = true;
    *parameter = list;
    return note("aclrtKernelArgsAppendPlaceHolder");
}
int aclrtKernelArgsGetPlaceHolderBuffer(void* list, void* parameter, size_t bytes, void** buffer) {
    LOCKED;
    auto& arguments = *static_cast<Arguments*>(list);
    if (parameter != list || !arguments.placed) return 107000;
    arguments.table.resize(bytes / sizeof(void*));
    *buffer = arguments.table.data();
    return note("aclrtKernelArgsGetPlaceHolderBuffer", "%zu", bytes);
}
int aclrtKernelArgsFinalize(void* list) {
    LOCKED;
    static_cast<Arguments*>(list)->done = true;
    return note("aclrtKernelArgsFinalize");
}
int aclrtLaunchKernelWithConfig(void* function, uint32_t block_dim, void* stream, void*, void* list, void*) {
    LOCKED;
    auto& arguments = *static_cast<Arguments*>(list);
    if (!arguments.done || !arguments.placed) return 107000;
    const std::string kernel = functions[function];
    void* const launch = arguments.values.back();
    const auto header = record<LaunchHeader>(device().content(launch), 0);
    const auto writes = writes_of(kernel, device().content(launch));
    Work work{kernel, {device().range(launch)}, {}, {}};
    work.reads[0].end = work.reads[0].begin + static_cast<uintptr_t>(header.bytes);
    std::vector<AscendFuseRegion> tensors;
    std::string kinds;
    for (size_t i = 0; i < arguments.table.size(); ++i) {
        Range range = device().range(arguments.table[i]);
        for (const void* next : arguments.table) {
            const auto at = reinterpret_cast<uintptr_t>(next);
            if (at > range.begin && at < range.end) range.end = at;
        }
        const bool writable = writes.count(static_cast<int32_t>(i)) > 0;
        (writable ? work.writes : work.reads).push_back(range);
        kinds += range.end ? "d" : arguments.table[i] ? "?" : "-";
        tensors.push_back(
            {arguments.table[i], static_cast<int64_t>(range.end - range.begin), writable ? 1 : 0});
    }
    const bool mixed = arguments.values.size() > 1 || unsynchronised_product(kernel);
    work.run = [=] { return emulate(device(), kernel, launch, block_dim, mixed, tensors); };
    const int code = note("aclrtLaunchKernelWithConfig", "%p %u %p version=%d bytes=%d tensors=%s", function,
                          block_dim, stream, header.version, header.bytes, kinds.c_str());
    if (!code) device().queue(stream, std::move(work));
    return code;
}

}  // extern "C"
