// Keys of Philox, from which draws take what has no seed of its own.
#pragma once

#include <cstdint>
#include <string_view>

namespace ascend_fuse {

// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): every bit of x reaches every bit of the result.
inline uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// Of a node of a session: no two nodes draw alike.
inline uint64_t node_key(uint64_t session_key, std::string_view node) {
    uint64_t key = mixed(session_key);
    for (const char c : node) key = mixed(key ^ static_cast<unsigned char>(c));
    return key;
}

}  // namespace ascend_fuse
