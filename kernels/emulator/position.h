// Positions: their memories, and the pipes of queues at them.
#pragma once

#include "instruction.h"
#include "types.h"

namespace AscendC {

namespace emulated = ascend_fuse::emulator;

namespace detail {

// The memory of a position (AscendC guide, table of TPosition); C1, C2 and CO2 differ by chip.
inline emulated::Space space_of(TPosition position, const emulated::Chip& chip, Where at) {
    const bool coupled = !chip.split;
    switch (position) {
        case TPosition::VECIN:
        case TPosition::VECOUT:
        case TPosition::VECCALC:
            return emulated::Space::ub;
        case TPosition::A1:
        case TPosition::B1:
        case TPosition::TSCM:
            return emulated::Space::l1;
        case TPosition::C1:
            return coupled ? emulated::Space::ub : emulated::Space::l1;
        case TPosition::A2:
            return emulated::Space::l0a;
        case TPosition::B2:
            return emulated::Space::l0b;
        case TPosition::CO1:
            return emulated::Space::l0c;
        case TPosition::C2:
            return chip.arch == 1001 || chip.arch == 2002 ? emulated::Space::l0c : emulated::Space::bt;
        case TPosition::C2PIPE2GM:
            return emulated::Space::fb;
        case TPosition::CO2:
            if (coupled) return emulated::Space::ub;
            [[fallthrough]];
        default:
            emulated::fail(emulated::FaultKind::unsupported_position,
                           "InitBuffer: no buffer at this position", at);
    }
}

// Which pipe fills a queue's buffers and which empties them, by position (GetQueEvt of the device headers).
inline std::pair<pipe_t, pipe_t> pipes_of(TPosition source, TPosition destination,
                                          const emulated::Chip& chip) {
    if (source == TPosition::GM) return {PIPE_MTE2, destination == TPosition::VECIN ? PIPE_V : PIPE_MTE1};
    if (source == TPosition::A1 || source == TPosition::B1 || source == TPosition::C1)
        return {PIPE_MTE1, PIPE_M};
    if (source == TPosition::CO1) return {PIPE_M, chip.arch == 1001 || chip.arch == 2002 ? PIPE_V : PIPE_FIX};
    if (source == TPosition::VECIN && destination == TPosition::VECOUT) return {PIPE_MTE2, PIPE_MTE3};
    return {PIPE_V, destination == TPosition::GM ? PIPE_MTE3 : PIPE_V};
}

constexpr TPosition source_of(TPosition position) {
    switch (position) {
        case TPosition::A2:
            return TPosition::A1;
        case TPosition::B2:
            return TPosition::B1;
        case TPosition::C2:
            return TPosition::C1;
        case TPosition::CO1:
            return TPosition::CO1;
        case TPosition::CO2:
            return TPosition::CO2;
        case TPosition::VECOUT:
            return TPosition::VECOUT;
        case TPosition::VECCALC:
            return TPosition::VECCALC;
        default:
            return TPosition::GM;
    }
}
constexpr TPosition destination_of(TPosition position) {
    if (position == TPosition::CO1) return TPosition::CO2;
    return position == TPosition::CO2 || position == TPosition::VECOUT ? TPosition::GM : position;
}

}  // namespace detail

}  // namespace AscendC
