// TPipe, TQue, TQueBind and TBuf: who may use which buffer when.
#pragma once

#include "event.h"
#include "position.h"
#include "tensor.h"

namespace AscendC {

namespace emulated = ascend_fuse::emulator;

class TPipe;

template <TPosition src, TPosition dst, int32_t depth, auto mask = 0>
class TQueBind {
  public:
    template <typename T>
    LocalTensor<T> AllocTensor(Where at = Where::here()) {
        emulated::Queue& queue = opened(at);
        check_count(queue, at);
        for (size_t i = 0; i < queue.buffers.size(); ++i) {
            emulated::Buffer& buffer = queue.buffers[(queue.next + i) % queue.buffers.size()];
            if (buffer.state != emulated::BufferState::idle) continue;
            queue.next = static_cast<uint32_t>((queue.next + i + 1) % queue.buffers.size());
            buffer.state = emulated::BufferState::allocated;
            emulated::wait_buffer(buffer, {queue.consumer, queue.producer}, at);
            emulated::core().memory(queue.space).forget(buffer.address, buffer.bytes);
            return tensor<T>(queue, buffer);
        }
        emulated::fail(emulated::FaultKind::queue_full, "AllocTensor: every buffer of the queue is in use",
                       at);
    }
    template <typename T>
    void AllocTensor(LocalTensor<T>& tensor, Where at = Where::here()) {
        tensor = AllocTensor<T>(at);
    }
    template <typename T>
    bool EnQue(const LocalTensor<T>& tensor, Where at = Where::here()) {
        emulated::Queue& queue = opened(at);
        const size_t index = find(queue, tensor, "EnQue", at);
        emulated::Buffer& buffer = queue.buffers[index];
        if (buffer.state != emulated::BufferState::allocated && buffer.state != emulated::BufferState::taken)
            emulated::fail(emulated::FaultKind::queue_foreign,
                           "EnQue: the tensor is already in the queue or free", at);
        if (queue.waiting.size() >= queue.depth)
            emulated::fail(emulated::FaultKind::queue_full,
                           "EnQue: as many tensors as the queue's depth wait", at);
        buffer.state = emulated::BufferState::queued;
        emulated::set_buffer(buffer, {queue.producer, queue.consumer}, at);
        queue.waiting.push_back(index);
        return true;
    }
    template <typename T>
    LocalTensor<T> DeQue(Where at = Where::here()) {
        emulated::Queue& queue = opened(at);
        if (queue.waiting.empty())
            emulated::fail(emulated::FaultKind::queue_empty, "DeQue: nothing was put into the queue", at);
        emulated::Buffer& buffer = queue.buffers[queue.waiting.front()];
        queue.waiting.erase(queue.waiting.begin());
        buffer.state = emulated::BufferState::taken;
        emulated::wait_buffer(buffer, {queue.producer, queue.consumer}, at);
        return tensor<T>(queue, buffer);
    }
    template <typename T>
    void DeQue(LocalTensor<T>& tensor, Where at = Where::here()) {
        tensor = DeQue<T>(at);
    }
    template <typename T>
    void FreeTensor(LocalTensor<T>& tensor, Where at = Where::here()) {
        emulated::Queue& queue = opened(at);
        emulated::Buffer& buffer = queue.buffers[find(queue, tensor, "FreeTensor", at)];
        if (buffer.state != emulated::BufferState::taken && buffer.state != emulated::BufferState::allocated)
            emulated::fail(emulated::FaultKind::queue_free,
                           "FreeTensor: the tensor is free already or in the queue", at);
        buffer.state = emulated::BufferState::idle;
        emulated::set_buffer(buffer, {queue.consumer, queue.producer}, at);
    }
    bool HasTensorInQue(Where at = Where::here()) { return !opened(at).waiting.empty(); }
    int32_t GetTensorCountInQue(Where at = Where::here()) {
        return static_cast<int32_t>(opened(at).waiting.size());
    }

  protected:
    friend class TPipe;

    static constexpr TPosition position = dst == TPosition::GM || src == TPosition::CO1 ? src : dst;

    emulated::Queue& opened(Where at) const {
        emulated::Core& core = emulated::core();
        if (queue_ < 0 || static_cast<size_t>(queue_) >= core.queues.size() || generation_ != core.generation)
            emulated::fail(emulated::FaultKind::queue_foreign, "queue: InitBuffer was not called for it", at);
        return core.queues[static_cast<size_t>(queue_)];
    }
    template <typename T>
    static LocalTensor<T> tensor(const emulated::Queue& queue, const emulated::Buffer& buffer) {
        return LocalTensor<T>({queue.space, buffer.address, buffer.address + buffer.bytes}, position,
                              buffer.bytes / static_cast<uint32_t>(sizeof(T)));
    }
    template <typename T>
    static size_t find(const emulated::Queue& queue, const LocalTensor<T>& tensor, const char* call,
                       Where at) {
        for (size_t i = 0; i < queue.buffers.size(); ++i)
            if (tensor.place().space == queue.space && tensor.place().address == queue.buffers[i].address)
                return i;
        emulated::fail(emulated::FaultKind::queue_foreign,
                       std::string(call) + ": the tensor is not a buffer of this queue", at);
    }
    // Tensors of a position that are allocated and not freed, over all queues.
    static void check_count(const emulated::Queue& queue, Where at) {
        emulated::Core& core = emulated::core();
        int used = 0;
        for (const auto& other : core.queues)
            for (const auto& buffer : other.buffers)
                used += other.position == queue.position && buffer.state != emulated::BufferState::idle;
        const int limit = core.launch->chip.arch == 1001 ? 4 : 8;
        if (used >= limit)
            emulated::fail(emulated::FaultKind::too_many_tensors,
                           "AllocTensor: " + std::to_string(limit) + " tensors of this position are in use",
                           at);
    }

    int queue_ = -1, generation_ = -1;
};

template <TPosition pos, int32_t depth, auto mask = 0>
class TQue : public TQueBind<detail::source_of(pos), detail::destination_of(pos), depth, mask> {};

template <TPosition pos = TPosition::LCM>
class TBuf {
  public:
    template <typename T>
    LocalTensor<T> Get(Where at = Where::here()) {
        return GetWithOffset<T>(buffer(at).bytes / static_cast<uint32_t>(sizeof(T)), 0, at);
    }
    template <typename T>
    LocalTensor<T> Get(uint32_t elements, Where at = Where::here()) {
        return GetWithOffset<T>(elements, 0, at);
    }
    // `offset` in bytes.
    template <typename T>
    LocalTensor<T> GetWithOffset(uint32_t elements, uint32_t offset, Where at = Where::here()) {
        const emulated::Buffer& whole = buffer(at);
        if (uint64_t{offset} + elements * sizeof(T) > whole.bytes)
            emulated::fail(emulated::FaultKind::buffer_overrun, "TBuf: the tensor is larger than its buffer",
                           at);
        return LocalTensor<T>({space(), whole.address + offset, whole.address + whole.bytes}, pos, elements);
    }

  private:
    friend class TPipe;

    const emulated::Buffer& buffer(Where at) const {
        emulated::Core& core = emulated::core();
        if (queue_ < 0 || generation_ != core.generation)
            emulated::fail(emulated::FaultKind::queue_foreign, "TBuf: InitBuffer was not called for it", at);
        return core.queues[static_cast<size_t>(queue_)].buffers.front();
    }
    emulated::Space space() const { return emulated::core().queues[static_cast<size_t>(queue_)].space; }

    int queue_ = -1, generation_ = -1;
};

class TPipe {
  public:
    TPipe() { emulated::core().pipe = this; }
    TPipe(const TPipe&) = delete;
    TPipe& operator=(const TPipe&) = delete;

    template <TPosition src, TPosition dst, int32_t depth, auto mask>
    bool InitBuffer(TQueBind<src, dst, depth, mask>& queue, uint8_t number, uint32_t bytes,
                    Where at = Where::here()) {
        const auto [producer, consumer] = detail::pipes_of(src, dst, emulated::core().launch->chip);
        queue.queue_ = take(queue.position, number, bytes, producer, consumer, depth == 0 ? 1 : depth, at);
        queue.generation_ = emulated::core().generation;
        return true;
    }
    template <TPosition pos, int32_t depth, auto mask>
    bool InitBuffer(TQue<pos, depth, mask>& queue, uint8_t number, uint32_t bytes, Where at = Where::here()) {
        using Bound = TQueBind<detail::source_of(pos), detail::destination_of(pos), depth, mask>;
        return InitBuffer(static_cast<Bound&>(queue), number, bytes, at);
    }
    template <TPosition pos>
    bool InitBuffer(TBuf<pos>& buffer, uint32_t bytes, Where at = Where::here()) {
        buffer.queue_ = take(pos, 1, bytes, PIPE_V, PIPE_V, 1, at);
        buffer.generation_ = emulated::core().generation;
        return true;
    }
    // Ids for SetFlag and WaitFlag that no queue takes, until they are released; `Fetch`: that none has now.
    template <HardEvent event>
    TEventID AllocEventID(Where at = Where::here()) {
        const int id = emulated::take_event(emulated::pipes_of(event), emulated::EventOwner::kernel, at);
        return static_cast<TEventID>(id);
    }
    template <HardEvent event>
    void ReleaseEventID(TEventID id) {
        auto& events = emulated::events_of(emulated::core(), emulated::pipes_of(event));
        events.at(static_cast<size_t>(id)).owner = emulated::EventOwner::none;
    }
    TEventID FetchEventID(HardEvent event, Where at = Where::here()) {
        const auto pair = emulated::pipes_of(event);
        const int id = emulated::take_event(pair, emulated::EventOwner::kernel, at);
        emulated::events_of(emulated::core(), pair)[static_cast<size_t>(id)].owner =
            emulated::EventOwner::none;
        return static_cast<TEventID>(id);
    }
    template <HardEvent event>
    TEventID FetchEventID(Where at = Where::here()) {
        return FetchEventID(event, at);
    }
    void Reset() {
        emulated::Core& core = emulated::core();
        emulated::check_left_over(core);
        core.clock.barrier(PIPE_ALL);
        for (auto& [pair, events] : core.events)
            for (auto& event : events)
                if (event.owner == emulated::EventOwner::queue) event = {};
        core.queues.clear();
        core.taken = {};
        core.buffers = 0;
        ++core.generation;
    }

  private:
    static int take(TPosition position, uint32_t number, uint32_t bytes, pipe_t producer, pipe_t consumer,
                    int32_t depth, Where at) {
        emulated::Core& core = emulated::core();
        emulated::Queue queue;
        queue.space = detail::space_of(position, core.launch->chip, at);
        queue.position = static_cast<int>(position);
        queue.producer = producer;
        queue.consumer = consumer;
        queue.depth = static_cast<uint32_t>(depth);
        queue.at = at;
        const auto space = static_cast<size_t>(queue.space);
        const uint32_t rounded = (bytes + 31) / 32 * 32;
        const uint64_t reserved = queue.space == emulated::Space::ub ? core.launch->chip.ub_reserved : 0;
        core.buffers += static_cast<int>(number);
        if (core.buffers > 64)
            emulated::fail(emulated::FaultKind::too_many_buffers, "InitBuffer: more than 64 buffers", at);
        if (number == 0 ||
            core.taken[space] + uint64_t{rounded} * number + reserved > core.launch->chip.bytes[space])
            emulated::fail(emulated::FaultKind::memory_overflow,
                           "InitBuffer: " + std::to_string(number) + " buffers of " +
                               std::to_string(rounded) + " B behind " + std::to_string(core.taken[space]) +
                               " B do not fit " + space_name(queue.space) + " of " +
                               std::to_string(core.launch->chip.bytes[space]) + " B, " +
                               std::to_string(reserved) + " of them reserved",
                           at);
        for (uint32_t i = 0; i < number; ++i) {
            queue.buffers.push_back({core.taken[space], rounded, emulated::BufferState::idle, -1});
            core.taken[space] += rounded;
        }
        core.peak[space] = std::max(core.peak[space], core.taken[space]);
        core.queues.push_back(std::move(queue));
        return static_cast<int>(core.queues.size()) - 1;
    }
};

}  // namespace AscendC

inline AscendC::TPipe* GetTPipePtr() {
    return static_cast<AscendC::TPipe*>(ascend_fuse::emulator::core().pipe);
}
