// Entry points of the execution-provider library.
#include <algorithm>
#include <cstdio>
#include <string>

#include "factory.h"
#include "ort.h"

using namespace ascend_fuse::plugin;

#define ASCEND_FUSE_EXPORT extern "C" __attribute__((visibility("default")))

ASCEND_FUSE_EXPORT OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base, const OrtLogger*,
                                                OrtEpFactory** factories, size_t limit,
                                                size_t* count) noexcept {
    const std::string version = base->GetVersionString();
    const auto minor = minor_of(version.c_str());
    Ort ort;
    if (minor && *minor >= oldest_minor) {
        ort.version = std::min<uint32_t>(*minor, ORT_API_VERSION);
        ort.api = base->GetApi(ort.version);
    }
    if (!ort.api) {
        // The first entries of the table are the same in every version; without any there is no status to
        // return.
        const OrtApi* const oldest = base->GetApi(1);
        const std::string message = "ascend-fuse: ONNX Runtime " + version + " is not supported, wanted 1." +
                                    std::to_string(oldest_minor) + " or newer";
        if (oldest) return oldest->CreateStatus(ORT_NOT_IMPLEMENTED, message.c_str());
        std::fprintf(stderr, "%s\n", message.c_str());
        *count = 0;
        return nullptr;
    }
    ort.ep = ort.api->GetEpApi();
    return ort.guarded([&]() -> OrtStatus* {
        if (limit < 1) return ort.failure("no room for a factory", ORT_INVALID_ARGUMENT);
        factories[0] = new Factory(ort);
        *count = 1;
        return nullptr;
    });
}

ASCEND_FUSE_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) noexcept {
    delete static_cast<Factory*>(factory);
    return nullptr;
}
