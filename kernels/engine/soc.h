// What a chip is: records of data/soc.csv, or a CANN platform_config INI with the same keys.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ascend_fuse_data.h"
#include "result.h"
#include "text.h"

namespace ascend_fuse {

// Sizes in bytes, rates in bytes per cycle per AI core; 0 where the source does not say.
struct Soc {
    std::string name;
    std::string family;
    std::string cube_vector_combine;  // empty: cube and vector share one core
    int64_t npu_arch = 0, ai_core_cnt = 0, cube_core_cnt = 0, vector_core_cnt = 0;
    int64_t memory_size = 0, l2_size = 0, cube_freq_mhz = 0;
    int64_t l1_size = 0, l0_a_size = 0, l0_b_size = 0, l0_c_size = 0, ub_size = 0, bt_size = 0;
    int64_t ubblock_size = 0, ubbank_size = 0, ubbank_num = 0;
    int64_t cube_m = 0, cube_n = 0, cube_k = 0, vec_calc_size = 0;
    int64_t support_fixpipe = 0, support_bf16 = 0;
    int64_t ddr_rate = 0, l2_rate = 0, l1_to_l0_a_rate = 0, l1_to_l0_b_rate = 0;
    int64_t l0_c_to_ub_rate = 0, ub_to_l2_rate = 0, ub_to_ddr_rate = 0;

    // 1001 has no vector cores of its own: each AI core holds one vector unit.
    int64_t vector_cores() const { return vector_core_cnt > 0 ? vector_core_cnt : ai_core_cnt; }
    int64_t cube_cores() const { return cube_core_cnt > 0 ? cube_core_cnt : ai_core_cnt; }
    bool supports_bf16() const { return support_bf16 != 0; }
    // 2201 converts bf16 but computes in f32; only the 3510 vector unit adds bf16 itself, and only its bias
    // table takes it.
    bool bf16_vector() const { return supports_bf16() && npu_arch == 3510; }
    bool bf16_bias_table() const { return supports_bf16() && npu_arch == 3510; }
    // Transfers between GM and UB of any length: 910A and 310P move whole blocks.
    bool copy_pad() const { return npu_arch != 1001 && npu_arch != 2002; }
    // A unit that empties L0C, loads of fractals out of rows, and of squares of bytes that are transposed.
    bool fixpipe() const { return npu_arch != 1001 && npu_arch != 2002; }
    double cycles_per_us() const { return static_cast<double>(cube_freq_mhz); }
    // The vendor's own estimate of GM bandwidth.
    double hbm_bytes_per_s() const {
        return static_cast<double>(cube_freq_mhz * ai_core_cnt * ddr_rate) * 1e6;
    }
    // GM bytes per cycle that one vector core can have when all run.
    double vector_rate() const {
        return static_cast<double>(ddr_rate * ai_core_cnt) / static_cast<double>(vector_cores());
    }
    // UB that the system keeps: 256 B and, by default, 8 KiB on 2201 (AscendC programming guide).
    int64_t ub_reserved() const { return npu_arch == 2201 ? 256 + 8192 : 0; }
};

struct SocField {
    const char* column;  // of soc.csv
    const char* key;     // of platform_config/*.ini
    int64_t Soc::* member;
    bool needed;  // the engine cannot estimate without it
};

inline constexpr std::array<SocField, 29> soc_fields = {{
    {"npu_arch", "NpuArch", &Soc::npu_arch, true},
    {"ai_core_cnt", "ai_core_cnt", &Soc::ai_core_cnt, true},
    {"cube_core_cnt", "cube_core_cnt", &Soc::cube_core_cnt, false},
    {"vector_core_cnt", "vector_core_cnt", &Soc::vector_core_cnt, false},
    {"memory_size", "memory_size", &Soc::memory_size, false},
    {"l2_size", "l2_size", &Soc::l2_size, false},
    {"cube_freq_mhz", "cube_freq", &Soc::cube_freq_mhz, true},
    {"l1_size", "l1_size", &Soc::l1_size, false},
    {"l0_a_size", "l0_a_size", &Soc::l0_a_size, false},
    {"l0_b_size", "l0_b_size", &Soc::l0_b_size, false},
    {"l0_c_size", "l0_c_size", &Soc::l0_c_size, false},
    {"ub_size", "ub_size", &Soc::ub_size, true},
    {"bt_size", "bt_size", &Soc::bt_size, false},
    {"ubblock_size", "ubblock_size", &Soc::ubblock_size, false},
    {"ubbank_size", "ubbank_size", &Soc::ubbank_size, false},
    {"ubbank_num", "ubbank_num", &Soc::ubbank_num, false},
    {"cube_m", "cube_m_size", &Soc::cube_m, true},
    {"cube_n", "cube_n_size", &Soc::cube_n, true},
    {"cube_k", "cube_k_size", &Soc::cube_k, true},
    {"vec_calc_size", "vec_calc_size", &Soc::vec_calc_size, true},
    {"support_fixpipe", "support_fixpipe", &Soc::support_fixpipe, false},
    {"support_bf16", "support_bf16", &Soc::support_bf16, false},
    {"ddr_rate", "ddr_rate", &Soc::ddr_rate, true},
    {"l2_rate", "l2_rate", &Soc::l2_rate, false},
    {"l1_to_l0_a_rate", "l1_to_l0_a_rate", &Soc::l1_to_l0_a_rate, false},
    {"l1_to_l0_b_rate", "l1_to_l0_b_rate", &Soc::l1_to_l0_b_rate, false},
    {"l0_c_to_ub_rate", "l0_c_to_ub_rate", &Soc::l0_c_to_ub_rate, false},
    {"ub_to_l2_rate", "ub_to_l2_rate", &Soc::ub_to_l2_rate, false},
    {"ub_to_ddr_rate", "ub_to_ddr_rate", &Soc::ub_to_ddr_rate, false},
}};

inline std::vector<Soc> read_socs(std::string_view csv) {
    const Table table = read_csv(csv);
    std::vector<Soc> socs;
    for (const auto& row : table.rows) {
        Soc soc;
        soc.name = table.field(row, "soc");
        soc.family = table.field(row, "family");
        soc.cube_vector_combine = table.field(row, "cube_vector_combine");
        for (const auto& field : soc_fields)
            soc.*field.member = to_int(table.field(row, field.column)).value_or(0);
        socs.push_back(std::move(soc));
    }
    return socs;
}

inline const std::vector<Soc>& socs() {
    static const std::vector<Soc> records = read_socs(embedded::soc_csv);
    return records;
}

// Edit distance, case-insensitive: for "did you mean".
inline size_t distance(std::string_view left, std::string_view right) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    std::vector<size_t> row(right.size() + 1);
    for (size_t j = 0; j <= right.size(); ++j) row[j] = j;
    for (size_t i = 1; i <= left.size(); ++i) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= right.size(); ++j) {
            const size_t swapped = corner + (lower(left[i - 1]) == lower(right[j - 1]) ? 0 : 1);
            corner = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, swapped});
        }
    }
    return row.back();
}

// The record of that exact name; the error lists the three nearest names.
inline Result<Soc> find_soc(std::string_view name) {
    std::vector<std::pair<size_t, std::string>> near;
    for (const auto& soc : socs()) {
        if (soc.name == name) return soc;
        near.emplace_back(distance(name, soc.name), soc.name);
    }
    std::sort(near.begin(), near.end());
    std::string message = "unknown SoC '" + std::string(name) + "'; near names:";
    for (size_t i = 0; i < near.size() && i < 3; ++i) message += (i > 0 ? ", " : " ") + near[i].second;
    return Error{0, message};
}

}  // namespace ascend_fuse
