// A libascendcl.so whose calls do nothing, so that only the host's side of a node is left to measure.
#include <cstdint>
#include <cstdlib>

namespace {

char something;  // what every handle points to
alignas(8) unsigned char buffer[4096];

}  // namespace

extern "C" {

int aclInit(const char*) { return 0; }
const char* aclGetRecentErrMsg() { return nullptr; }
const char* aclrtGetSocName() { return "Ascend910B3"; }
int aclrtSetDevice(int32_t) { return 0; }
int aclrtCreateStream(void** stream) { return *stream = &something, 0; }
int aclrtDestroyStream(void*) { return 0; }
int aclrtSynchronizeStream(void*) { return 0; }
int aclrtSynchronizeDevice() { return 0; }
int aclrtCreateEventExWithFlag(void** event, uint32_t) { return *event = &something, 0; }
int aclrtDestroyEvent(void*) { return 0; }
int aclrtRecordEvent(void*, void*) { return 0; }
int aclrtStreamWaitEvent(void*, void*) { return 0; }
int aclrtSynchronizeEvent(void*) { return 0; }
int aclrtMalloc(void** address, size_t bytes, int) { return *address = std::malloc(bytes), 0; }
int aclrtFree(void* address) { return std::free(address), 0; }
int aclrtMemcpy(void*, size_t, const void*, size_t, int) { return 0; }
int aclrtBinaryLoadFromFile(const char*, void*, void** binary) { return *binary = &something, 0; }
int aclrtBinaryUnLoad(void*) { return 0; }
int aclrtBinaryGetFunction(void*, const char*, void** function) { return *function = &something, 0; }
int aclrtKernelArgsInit(void*, void** arguments) { return *arguments = &something, 0; }
int aclrtKernelArgsAppend(void*, void*, size_t, void** parameter) { return *parameter = &something, 0; }
int aclrtKernelArgsAppendPlaceHolder(void*, void** parameter) { return *parameter = &something, 0; }
int aclrtKernelArgsGetPlaceHolderBuffer(void*, void*, size_t, void** address) { return *address = buffer, 0; }
int aclrtKernelArgsFinalize(void*) { return 0; }
int aclrtLaunchKernelWithConfig(void*, uint32_t, void*, void*, void*, void*) { return 0; }
int aclrtGetHardwareSyncAddr(void** address) { return *address = &something, 0; }

}  // extern "C"
