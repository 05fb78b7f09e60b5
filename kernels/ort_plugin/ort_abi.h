// The part of ONNX Runtime's C ABI that the plugin uses, at the offsets of the official headers of API 29:
// tables only grow, so they hold for every version since 1.24 that has a member at all. Names are the
// official ones, and with ASCEND_FUSE_ORT_HEADERS the plugin is built against those headers instead;
// ort_offsets.inc holds for both.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef ASCEND_FUSE_ORT_HEADERS
#include <onnxruntime_c_api.h>
#else

#define ORT_API_VERSION 29

struct OrtAllocator;
struct OrtApi;
struct OrtDataTransferImpl;
struct OrtEp;
struct OrtEpApi;
struct OrtEpDevice;
struct OrtEpFactory;
struct OrtEpGraphSupportInfo;
struct OrtEpProfilerImpl;
struct OrtGraph;
struct OrtHardwareDevice;
struct OrtKernelContext;
struct OrtKeyValuePairs;
struct OrtLogger;
struct OrtMemoryDevice;
struct OrtMemoryInfo;
struct OrtNode;
struct OrtNodeComputeContext;
struct OrtNodeFusionOptions;
struct OrtOpAttr;
struct OrtProfilingEvent;
struct OrtProfilingEventsContainer;
struct OrtSessionOptions;
struct OrtStatus;
struct OrtSyncNotificationImpl;
struct OrtSyncStream;
struct OrtSyncStreamImpl;
struct OrtTensorTypeAndShapeInfo;
struct OrtTypeInfo;
struct OrtValue;
struct OrtValueInfo;

enum OrtErrorCode { ORT_INVALID_ARGUMENT = 2, ORT_RUNTIME_EXCEPTION = 6, ORT_NOT_IMPLEMENTED = 9 };

enum ONNXTensorElementDataType {
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED = 0,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8 = 2,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8 = 3,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16 = 4,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16 = 5,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 = 6,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 = 7,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL = 9,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16 = 10,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE = 11,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32 = 12,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64 = 13,
    ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16 = 16,
};

enum OrtLoggingLevel {
    ORT_LOGGING_LEVEL_WARNING = 2,
};

enum OrtOpAttrType { ORT_OP_ATTR_INT = 1, ORT_OP_ATTR_STRING = 5 };
enum OrtAllocatorType { OrtDeviceAllocator = 0 };
enum OrtDeviceMemoryType { OrtDeviceMemoryType_DEFAULT = 0 };
enum OrtMemoryInfoDeviceType { OrtMemoryInfoDeviceType_CPU = 0, OrtMemoryInfoDeviceType_NPU = 3 };
enum OrtHardwareDeviceType { OrtHardwareDeviceType_CPU = 0 };
enum OrtProfilingEventCategory { OrtProfilingEventCategory_KERNEL = 2 };

using OrtGap = void (*)();  // members that we do not use

struct OrtApiBase {
    const OrtApi* (*GetApi)(uint32_t version);
    const char* (*GetVersionString)();
};

struct OrtApi {
    OrtStatus* (*CreateStatus)(OrtErrorCode code, const char* message);
    OrtGap gap_0[50];
    OrtStatus* (*GetTensorMutableData)(OrtValue* value, void** data);
    OrtGap gap_1[3];
    OrtStatus* (*CastTypeInfoToTensorInfo)(const OrtTypeInfo* type, const OrtTensorTypeAndShapeInfo** info);
    OrtGap gap_2[4];
    OrtStatus* (*GetTensorElementType)(const OrtTensorTypeAndShapeInfo* info,
                                       ONNXTensorElementDataType* type);
    OrtStatus* (*GetDimensionsCount)(const OrtTensorTypeAndShapeInfo* info, size_t* count);
    OrtStatus* (*GetDimensions)(const OrtTensorTypeAndShapeInfo* info, int64_t* sizes, size_t count);
    OrtGap gap_3[27];
    OrtStatus* (*KernelContext_GetInput)(const OrtKernelContext* context, size_t index,
                                         const OrtValue** value);
    OrtStatus* (*KernelContext_GetOutput)(OrtKernelContext* context, size_t index, const int64_t* sizes,
                                          size_t count, OrtValue** value);
    OrtGap gap_4[1];
    void (*ReleaseStatus)(OrtStatus* status);
    void (*ReleaseMemoryInfo)(OrtMemoryInfo* info);
    OrtGap gap_5[98];
    OrtStatus* (*KernelContext_GetGPUComputeStream)(const OrtKernelContext* context, void** stream);
    OrtGap gap_6[53];
    OrtStatus* (*Logger_LogMessage)(const OrtLogger* logger, OrtLoggingLevel level, const char* message,
                                    const char* file, int line, const char* function);
    OrtGap gap_7[24];
    OrtStatus* (*ReadOpAttr)(const OrtOpAttr* attribute, OrtOpAttrType type, void* value, size_t bytes,
                             size_t* needed);
    OrtGap gap_8[1];
    OrtStatus* (*KernelContext_ParallelFor)(const OrtKernelContext* context,
                                            void (*task)(void* user, size_t index), size_t total,
                                            size_t batches, void* user);
    OrtGap gap_9[14];
    OrtStatus* (*GetValueInfoName)(const OrtValueInfo* value, const char** name);
    OrtStatus* (*GetValueInfoTypeInfo)(const OrtValueInfo* value, const OrtTypeInfo** type);
    OrtGap gap_10[4];
    void (*CreateKeyValuePairs)(OrtKeyValuePairs** pairs);
    void (*AddKeyValuePair)(OrtKeyValuePairs* pairs, const char* key, const char* value);
    OrtGap gap_11[1];
    void (*GetKeyValuePairs)(const OrtKeyValuePairs* pairs, const char* const** keys,
                             const char* const** values, size_t* count);
    OrtGap gap_12[1];
    void (*ReleaseKeyValuePairs)(OrtKeyValuePairs* pairs);
    OrtGap gap_13[6];
    OrtHardwareDeviceType (*HardwareDevice_Type)(const OrtHardwareDevice* device);
    OrtGap gap_14[9];
    const OrtEpApi* (*GetEpApi)();
    OrtGap gap_15[2];
    OrtStatus* (*CreateMemoryInfo_V2)(const char* name, OrtMemoryInfoDeviceType device, uint32_t vendor,
                                      int32_t id, OrtDeviceMemoryType memory, size_t alignment,
                                      OrtAllocatorType allocator, OrtMemoryInfo** info);
    OrtGap gap_16[23];
    OrtStatus* (*Graph_GetNumNodes)(const OrtGraph* graph, size_t* count);
    OrtStatus* (*Graph_GetNodes)(const OrtGraph* graph, const OrtNode** nodes, size_t count);
    OrtGap gap_17[3];
    OrtStatus* (*Node_GetName)(const OrtNode* node, const char** name);
    OrtGap gap_18[1];
    OrtStatus* (*Node_GetDomain)(const OrtNode* node, const char** domain);
    OrtGap gap_19[1];
    OrtStatus* (*Node_GetNumInputs)(const OrtNode* node, size_t* count);
    OrtStatus* (*Node_GetInputs)(const OrtNode* node, const OrtValueInfo** values, size_t count);
    OrtStatus* (*Node_GetNumOutputs)(const OrtNode* node, size_t* count);
    OrtStatus* (*Node_GetOutputs)(const OrtNode* node, const OrtValueInfo** values, size_t count);
    OrtGap gap_20[4];
    OrtStatus* (*Node_GetAttributeByName)(const OrtNode* node, const char* name, const OrtOpAttr** attribute);
    OrtGap gap_21[17];
    OrtStatus* (*GetSessionOptionsConfigEntries)(const OrtSessionOptions* options, OrtKeyValuePairs** pairs);
    OrtGap gap_22[4];
    void* (*SyncStream_GetHandle)(OrtSyncStream* stream);
    OrtGap gap_23[29];
    OrtStatus* (*GetTensorElementTypeAndShapeDataReference)(const OrtValue* value,
                                                            ONNXTensorElementDataType* type,
                                                            const int64_t** sizes, size_t* count);
};

struct OrtEpApi {
    OrtStatus* (*CreateEpDevice)(OrtEpFactory* factory, const OrtHardwareDevice* hardware,
                                 const OrtKeyValuePairs* metadata, const OrtKeyValuePairs* options,
                                 OrtEpDevice** device);
    OrtGap gap_0[1];
    OrtStatus* (*EpGraphSupportInfo_AddNodesToFuse)(OrtEpGraphSupportInfo* support,
                                                    const OrtNode* const* nodes, size_t count,
                                                    const OrtNodeFusionOptions* options);
    OrtGap gap_1[2];
    OrtStatus* (*EpDevice_AddAllocatorInfo)(OrtEpDevice* device, const OrtMemoryInfo* info);
    OrtGap gap_2[1];
    const OrtMemoryDevice* (*Value_GetMemoryDevice)(const OrtValue* value);
    OrtGap gap_3[1];
    OrtMemoryInfoDeviceType (*MemoryDevice_GetDeviceType)(const OrtMemoryDevice* device);
    OrtGap gap_4[1];
    uint32_t (*MemoryDevice_GetVendorId)(const OrtMemoryDevice* device);
    OrtGap gap_5[53];
    OrtStatus* (*CreateProfilingEvent)(OrtProfilingEventCategory category, int32_t process, int32_t thread,
                                       const char* name, int64_t start_us, int64_t duration_us,
                                       const char* const* keys, const char* const* values, size_t count,
                                       OrtProfilingEvent** event);
    void (*ReleaseProfilingEvent)(OrtProfilingEvent* event);
    OrtGap gap_6[5];
    OrtStatus* (*ProfilingEventsContainer_AddEvents)(OrtProfilingEventsContainer* container,
                                                     const OrtProfilingEvent* const* events, size_t count);
};

struct OrtAllocator {
    uint32_t version = 0;
    void* (*Alloc)(OrtAllocator* self, size_t bytes) = nullptr;
    void (*Free)(OrtAllocator* self, void* address) = nullptr;
    const OrtMemoryInfo* (*Info)(const OrtAllocator* self) = nullptr;
    void* (*Reserve)(OrtAllocator* self, size_t bytes) = nullptr;
    OrtGap gap_0[1];
    void* (*AllocOnStream)(OrtAllocator* self, size_t bytes, OrtSyncStream* stream) = nullptr;
    OrtGap gap_1[1];
};

struct OrtDataTransferImpl {
    uint32_t ort_version_supported = 0;
    void (*Release)(OrtDataTransferImpl* self) = nullptr;
    bool (*CanCopy)(const OrtDataTransferImpl* self, const OrtMemoryDevice* from,
                    const OrtMemoryDevice* to) = nullptr;
    OrtStatus* (*CopyTensors)(OrtDataTransferImpl* self, const OrtValue** from, OrtValue** to,
                              OrtSyncStream** streams, size_t count) = nullptr;
};

struct OrtSyncNotificationImpl {
    uint32_t ort_version_supported = 0;
    void (*Release)(OrtSyncNotificationImpl* self) = nullptr;
    OrtStatus* (*Activate)(OrtSyncNotificationImpl* self) = nullptr;
    OrtStatus* (*WaitOnDevice)(OrtSyncNotificationImpl* self, OrtSyncStream* consumer) = nullptr;
    OrtStatus* (*WaitOnHost)(OrtSyncNotificationImpl* self) = nullptr;
};

struct OrtSyncStreamImpl {
    uint32_t ort_version_supported = 0;
    void (*Release)(OrtSyncStreamImpl* self) = nullptr;
    void* (*GetHandle)(OrtSyncStreamImpl* self) = nullptr;
    OrtStatus* (*CreateNotification)(OrtSyncStreamImpl* self,
                                     OrtSyncNotificationImpl** notification) = nullptr;
    OrtStatus* (*Flush)(OrtSyncStreamImpl* self) = nullptr;
    OrtStatus* (*OnSessionRunEnd)(OrtSyncStreamImpl* self) = nullptr;
};

struct OrtEpProfilerImpl {
    uint32_t ort_version_supported = 0;
    void (*Release)(OrtEpProfilerImpl* self) = nullptr;
    OrtStatus* (*StartProfiling)(OrtEpProfilerImpl* self, int64_t offset_ns) = nullptr;
    OrtGap gap_0[2];
    OrtStatus* (*EndProfiling)(OrtEpProfilerImpl* self, OrtProfilingEventsContainer* container) = nullptr;
};

struct OrtNodeComputeInfo {
    uint32_t ort_version_supported = 0;
    OrtStatus* (*CreateState)(OrtNodeComputeInfo* self, OrtNodeComputeContext* context,
                              void** state) = nullptr;
    OrtStatus* (*Compute)(OrtNodeComputeInfo* self, void* state, OrtKernelContext* context) = nullptr;
    void (*ReleaseState)(OrtNodeComputeInfo* self, void* state) = nullptr;
};

struct OrtEp {
    uint32_t ort_version_supported = 0;
    const char* (*GetName)(const OrtEp* self) = nullptr;
    OrtStatus* (*GetCapability)(OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* support) = nullptr;
    OrtStatus* (*Compile)(OrtEp* self, const OrtGraph** graphs, const OrtNode** fused_nodes, size_t count,
                          OrtNodeComputeInfo** infos, OrtNode** context_nodes) = nullptr;
    void (*ReleaseNodeComputeInfos)(OrtEp* self, OrtNodeComputeInfo** infos, size_t count) = nullptr;
    OrtGap gap_0[10];
    OrtStatus* (*Sync)(OrtEp* self) = nullptr;
    OrtStatus* (*CreateProfiler)(OrtEp* self, OrtEpProfilerImpl** profiler) = nullptr;
    OrtGap gap_1[9];
};

struct OrtEpFactory {
    uint32_t ort_version_supported = 0;
    const char* (*GetName)(const OrtEpFactory* self) = nullptr;
    const char* (*GetVendor)(const OrtEpFactory* self) = nullptr;
    OrtStatus* (*GetSupportedDevices)(OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                                      size_t count, OrtEpDevice** ep_devices, size_t limit,
                                      size_t* used) = nullptr;
    OrtStatus* (*CreateEp)(OrtEpFactory* self, const OrtHardwareDevice* const* devices,
                           const OrtKeyValuePairs* const* metadata, size_t count,
                           const OrtSessionOptions* options, const OrtLogger* logger, OrtEp** ep) = nullptr;
    void (*ReleaseEp)(OrtEpFactory* self, OrtEp* ep) = nullptr;
    uint32_t (*GetVendorId)(const OrtEpFactory* self) = 0;
    const char* (*GetVersion)(const OrtEpFactory* self) = nullptr;
    OrtGap gap_0[1];
    OrtStatus* (*CreateAllocator)(OrtEpFactory* self, const OrtMemoryInfo* info,
                                  const OrtKeyValuePairs* options, OrtAllocator** allocator) = nullptr;
    void (*ReleaseAllocator)(OrtEpFactory* self, OrtAllocator* allocator) = nullptr;
    OrtStatus* (*CreateDataTransfer)(OrtEpFactory* self, OrtDataTransferImpl** transfer) = nullptr;
    bool (*IsStreamAware)(const OrtEpFactory* self) = nullptr;
    OrtStatus* (*CreateSyncStreamForDevice)(OrtEpFactory* self, const OrtMemoryDevice* device,
                                            const OrtKeyValuePairs* options,
                                            OrtSyncStreamImpl** stream) = nullptr;
    OrtGap gap_1[7];
};

#endif  // ASCEND_FUSE_ORT_HEADERS

#define ORT_OFFSET(type, member, bytes) static_assert(offsetof(type, member) == bytes, #type "::" #member);
#define ORT_SIZE(type, bytes) static_assert(sizeof(type) == bytes, #type);
#define ORT_VALUE(name, value) static_assert(name == value, #name);
#include "ort_offsets.inc"
#undef ORT_OFFSET
#undef ORT_SIZE
#undef ORT_VALUE
