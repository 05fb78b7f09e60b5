// A libascendcl.so that has no device: it records every call in the file named by ACL_STAND_IN_LOG, one line
// each, keeps "device" memory on the host, and runs a kernel by setting the last tensor of its table to zero.
// ACL_STAND_IN_FAIL names a call that answers 507035.
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

std::mutex mutex;
std::map<void*, size_t> blocks;  // device memory by address
std::map<std::string, int> numbers;
std::vector<void*> arguments;

int note(const char* call, const char* format = "", ...) {
    const std::lock_guard<std::mutex> lock(mutex);
    char text[512];
    va_list list;
    va_start(list, format);
    std::vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (const char* path = std::getenv("ACL_STAND_IN_LOG")) {
        std::FILE* file = std::fopen(path, "a");
        std::fprintf(file, "%s %s\n", call, text);
        std::fclose(file);
    }
    const char* fail = std::getenv("ACL_STAND_IN_FAIL");
    return fail && std::string(fail) == call ? 507035 : 0;
}

// Whether the address is of device memory, of a whole block or inside of one.
bool on_device(void* address) {
    auto block = blocks.upper_bound(address);
    if (block == blocks.begin()) return false;
    --block;
    return static_cast<char*>(address) < static_cast<char*>(block->first) + block->second;
}

// Handles are small numbers behind a base, the same in every run.
void* handle(const char* kind, uintptr_t base) { return reinterpret_cast<void*>(base + ++numbers[kind]); }

}  // namespace

extern "C" {

int aclInit(const char*) {
    static bool done = false;
    const int code = note("aclInit");
    if (code) return code;
    const bool again = done;
    done = true;
    return again ? 100002 : 0;
}
const char* aclGetRecentErrMsg() { return "the stand-in was told to fail"; }
const char* aclrtGetSocName() {
    return std::getenv("ACL_STAND_IN_SOC") ? std::getenv("ACL_STAND_IN_SOC") : "Ascend910B3";
}
int aclrtSetDevice(int32_t device) { return note("aclrtSetDevice", "%d", device); }
int aclrtCreateStream(void** stream) {
    *stream = handle("stream", 0x1000);
    return note("aclrtCreateStream", "%p", *stream);
}
int aclrtDestroyStream(void* stream) { return note("aclrtDestroyStream", "%p", stream); }
int aclrtSynchronizeStream(void* stream) { return note("aclrtSynchronizeStream", "%p", stream); }
int aclrtSynchronizeDevice() { return note("aclrtSynchronizeDevice"); }
int aclrtMalloc(void** address, size_t bytes, int policy) {
    *address = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
    std::memset(*address, 0x5a, bytes);
    blocks[*address] = bytes;
    return note("aclrtMalloc", "%zu %d", bytes, policy);
}
int aclrtFree(void* address) {
    const size_t known = blocks.erase(address);
    std::free(address);
    return note("aclrtFree", "%zu", known);
}
int aclrtMemcpy(void* to, size_t room, const void* from, size_t bytes, int kind) {
    if (bytes > room) return 107000;
    std::memcpy(to, from, bytes);
    return note("aclrtMemcpy", "%zu %d", bytes, kind);
}
int aclrtMemcpyAsync(void* to, size_t room, const void* from, size_t bytes, int kind, void* stream) {
    if (bytes > room) return 107000;
    std::memcpy(to, from, bytes);
    return note("aclrtMemcpyAsync", "%zu %d %p", bytes, kind, stream);
}
int aclrtBinaryLoadFromFile(const char* path, void*, void** binary) {
    *binary = handle("binary", 0x2000);
    std::FILE* file = std::fopen(path, "rb");
    if (!file) return 107000;
    std::fclose(file);
    return note("aclrtBinaryLoadFromFile", "%s %p", std::strrchr(path, '/') + 1, *binary);
}
int aclrtBinaryUnLoad(void* binary) { return note("aclrtBinaryUnLoad", "%p", binary); }
int aclrtBinaryGetFunction(void* binary, const char* name, void** function) {
    *function = handle("function", 0x3000);
    return note("aclrtBinaryGetFunction", "%p %s %p", binary, name, *function);
}
int aclrtGetHardwareSyncAddr(void** address) {
    *address = reinterpret_cast<void*>(0x4000);
    return note("aclrtGetHardwareSyncAddr");
}
int aclrtKernelArgsInit(void* function, void** list) {
    arguments.clear();
    *list = &arguments;
    return note("aclrtKernelArgsInit", "%p", function);
}
int aclrtKernelArgsAppend(void*, void* value, size_t bytes, void** parameter) {
    void* address = nullptr;
    std::memcpy(&address, value, bytes);
    arguments.push_back(address);
    *parameter = nullptr;
    return note("aclrtKernelArgsAppend", "%zu %s", bytes, on_device(address) ? "device" : "other");
}
int aclrtKernelArgsFinalize(void*) { return note("aclrtKernelArgsFinalize"); }
int aclrtLaunchKernelWithConfig(void* function, uint32_t block_dim, void* stream, void*, void* list, void*) {
    auto& values = *static_cast<std::vector<void*>*>(list);
    void* const launch = values[values.size() - 2];
    void** const table = static_cast<void**>(values.back());
    int32_t header[5];  // version, bytes, block_dim, buffer_num, tensors
    std::memcpy(header, launch, sizeof header);
    std::string kinds;
    for (int32_t i = 0; i < header[4]; ++i) {
        kinds += on_device(table[i]) ? "d" : "?";
        if (i + 1 == header[4] && blocks.count(table[i])) std::memset(table[i], 0, blocks[table[i]]);
    }
    return note("aclrtLaunchKernelWithConfig", "%p %u %p version=%d bytes=%d tensors=%s", function, block_dim,
                stream, header[0], header[1], kinds.c_str());
}

}  // extern "C"
