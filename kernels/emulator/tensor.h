// LocalTensor and GlobalTensor: typed views of an on-chip buffer and of GM.
#pragma once

#include "instruction.h"
#include "types.h"

namespace AscendC {

namespace emulated = ascend_fuse::emulator;

template <typename T>
class LocalTensor {
  public:
    using PrimType = T;

    LocalTensor() = default;
    LocalTensor(emulated::Local place, TPosition position, uint32_t elements)
        : place_(place), position_(position), elements_(elements) {}

    // A view from an element on; it may go as far as its buffer.
    LocalTensor operator[](uint32_t offset) const {
        LocalTensor view = *this;
        view.place_.address += offset * static_cast<uint32_t>(sizeof(T));
        view.elements_ = offset < elements_ ? elements_ - offset : 0;
        return view;
    }
    template <typename U>
    LocalTensor<U> ReinterpretCast() const {
        return LocalTensor<U>(place_, position_, static_cast<uint32_t>(elements_ * sizeof(T) / sizeof(U)));
    }
    T GetValue(uint32_t index, Where at = Where::here()) const {
        const emulated::Instruction call("GetValue", PIPE_S, at);
        const uint32_t offset = index * static_cast<uint32_t>(sizeof(T));
        check_scalar(call);
        const uint8_t* from = call.read(place_, offset, sizeof(T));
        call.check_written(place_, offset, sizeof(T), "reads");
        T value;
        std::memcpy(&value, from, sizeof value);
        return value;
    }
    template <typename S>
    void SetValue(uint32_t index, S value, Where at = Where::here()) const {
        const emulated::Instruction call("SetValue", PIPE_S, at);
        const uint32_t offset = index * static_cast<uint32_t>(sizeof(T));
        check_scalar(call);
        const T stored = static_cast<T>(value);
        std::memcpy(call.write(place_, offset, sizeof(T)), &stored, sizeof stored);
        call.mark(place_, offset, sizeof(T), false);
    }
    uint32_t GetSize() const { return elements_; }
    void SetSize(uint32_t elements) { elements_ = elements; }
    int32_t GetPosition() const { return static_cast<int32_t>(position_); }
    uint64_t GetPhyAddr(uint32_t offset = 0) const { return place_.address + offset * sizeof(T); }

    // The emulator's own.
    const emulated::Local& place() const { return place_; }
    TPosition position() const { return position_; }

  private:
    void check_scalar(const emulated::Instruction& call) const {
        call.check(place_.space == emulated::Space::ub, emulated::FaultKind::unsupported_position,
                   "reaches UB only");
    }

    emulated::Local place_{};
    TPosition position_ = TPosition::MAX;
    uint32_t elements_ = 0;
};

template <typename T>
class GlobalTensor {
  public:
    using PrimType = T;

    void SetGlobalBuffer(__gm__ T* buffer, uint64_t elements) {
        address_ = buffer;
        elements_ = elements;
    }
    void SetGlobalBuffer(__gm__ T* buffer) { SetGlobalBuffer(buffer, 0); }
    GlobalTensor operator[](uint64_t offset) const {
        GlobalTensor view = *this;
        view.address_ += offset;
        view.elements_ = offset < elements_ ? elements_ - offset : 0;
        return view;
    }
    const __gm__ T* GetPhyAddr() const { return address_; }
    __gm__ T* GetPhyAddr(uint64_t offset) const { return address_ + offset; }
    uint64_t GetSize() const { return elements_; }

    T GetValue(uint64_t offset, Where at = Where::here()) const {
        const emulated::Instruction call("GetValue", PIPE_S, at);
        emulated::Runs runs{0, sizeof(T), 1, sizeof(T)};
        emulated::RegionState& region = call.gm(address_ + offset, runs, false);
        call.check(!region.writable || region.written.holds(runs.begin, runs.end()),
                   emulated::FaultKind::unwritten_read, "reads GM that nobody wrote");
        T value;
        std::memcpy(&value, address_ + offset, sizeof value);
        return value;
    }
    // Goes into the core's data cache: DataCacheCleanAndInvalid brings it to GM.
    void SetValue(uint64_t offset, T value, Where at = Where::here()) {
        const emulated::Instruction call("SetValue", PIPE_S, at);
        emulated::Runs runs{0, sizeof(T), 1, sizeof(T)};
        call.gm(address_ + offset, runs, true);
        std::memcpy(address_ + offset, &value, sizeof value);
        emulated::Core& core = call.at_core();
        const auto first = reinterpret_cast<uint64_t>(address_ + offset),
                   size = emulated::cache_line_bytes(core);
        emulated::DirtyLine& line = core.dirty[first / size];
        line.at = at;
        for (uint64_t byte = 0; byte < sizeof(T); ++byte) line.bytes.set(first % size + byte);
    }

  private:
    __gm__ T* address_ = nullptr;
    uint64_t elements_ = 0;
};

}  // namespace AscendC
