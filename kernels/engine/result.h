// A value or the reason why there is none: nothing in the engine throws.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace ascend_fuse {

// What is wrong with an input. `line` counts from 1; 0 when the input has no lines.
struct Error {
    int line = 0;
    std::string message;

    std::string text() const { return line > 0 ? "line " + std::to_string(line) + ": " + message : message; }
};

// Why something is not fused.
struct Refusal {
    std::string code;  // a reason code of docs/design/0001
    std::string message;
    std::string decides;  // a term of the estimate, a buffer, dtype, op, …
};

template <class T>
class Result {
  public:
    Result(T value) : value_(std::move(value)) {}
    Result(Error error) : error_(std::move(error)) {}

    explicit operator bool() const { return value_.has_value(); }
    // Precondition: bool(*this).
    const T& operator*() const { return *value_; }
    T& operator*() { return *value_; }
    const T* operator->() const { return &*value_; }
    T* operator->() { return &*value_; }
    // Precondition: !bool(*this).
    const Error& error() const { return error_; }

  private:
    std::optional<T> value_;
    Error error_;
};

}  // namespace ascend_fuse
