// A tensor as a caller hands it over: whose memory it is, the caller knows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "dtype.h"

namespace ascend_fuse {

struct Tensor {
    Dtype dtype = Dtype::f32;
    const int64_t* sizes = nullptr;  // of the dimensions, outermost first
    size_t rank = 0;
    void* address = nullptr;

    int64_t elements() const {
        int64_t total = 1;
        for (size_t i = 0; i < rank; ++i) total *= sizes[i];
        return total;
    }
    int64_t bytes() const { return elements() * width(dtype); }
};

// The sizes and dtype of a tensor without its memory.
struct Form {
    Dtype dtype = Dtype::f32;
    std::vector<int64_t> sizes;

    bool operator==(const Tensor& tensor) const {
        return dtype == tensor.dtype &&
               std::equal(sizes.begin(), sizes.end(), tensor.sizes, tensor.sizes + tensor.rank);
    }
    Tensor at(void* address) const { return Tensor{dtype, sizes.data(), sizes.size(), address}; }
    int64_t bytes() const { return at(nullptr).bytes(); }
};

inline std::string text(const int64_t* sizes, size_t rank) {
    std::string line = "[";
    for (size_t i = 0; i < rank; ++i) line += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
    return line + "]";
}

}  // namespace ascend_fuse
