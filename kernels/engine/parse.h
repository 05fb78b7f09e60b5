// Program text v1 -> Program (grammar: docs/design/0001). Every error names its line.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "check.h"
#include "join.h"
#include "lex.h"
#include "print.h"

namespace ascend_fuse {

class Parser {
  public:
    Result<Program> parse(std::string_view text) {
        const auto lines = split(text, "\n");
        for (size_t i = 0; i < lines.size(); ++i) {
            line_ = static_cast<int>(i) + 1;
            const bool last = i + 1 == lines.size();
            auto error = i == 0 ? header(lines[i]) : last ? outputs(lines[i]) : value(lines[i]);
            if (i == 0 && last) error = error ? error : wrong("no `out` line");
            if (error) return at_line(*error);
        }
        return std::move(program_);
    }

  private:
    using Failure = std::optional<Error>;

    Error at_line(Error error) const {
        if (error.line == 0) error.line = line_;
        return error;
    }

    Failure header(std::string_view line) {
        const auto open = line.find(" 1 [");
        if (open == std::string_view::npos || line.back() != ']')
            return wrong("wanted a header such as `rowwise 1 [d0 | d1]`, found " + quote(line));
        const auto family = line.substr(0, open);
        const auto known = std::find_if(std::begin(families), std::end(families),
                                        [&](Family one) { return family == name(one); });
        if (known == std::end(families))
            return wrong("the engine knows no family " + quote(family) +
                         "; it knows elementwise, rowwise, matmul and transform");
        program_.family = *known;
        const auto space = read_extents(line.substr(open + 4, line.size() - open - 5));
        if (!space) return space.error();
        const bool barred = program_.family != Family::elementwise;
        if (barred != (space->bar >= 0))
            return wrong(barred ? "a " + std::string(family) + " space needs a |" : "elementwise has no |");
        if (program_.family == Family::matmul && space->bar == 0)
            return wrong("a matmul space needs an m axis");
        if (program_.family == Family::transform && space->bar == 0)
            return wrong("a transform space needs an axis in front of the |");
        if (space->dims.empty()) return wrong("the space has no axes");
        program_.space = space->dims;
        program_.bar = space->bar;
        return number(space->dims);
    }

    // Symbols are numbered by first appearance.
    Failure number(const Dims& dims) {
        for (const auto& dim : dims) {
            if (dim.symbol < program_.n_symbols) continue;
            if (dim.symbol > program_.n_symbols)
                return wrong(dim.text() + " stands before d" + std::to_string(program_.n_symbols));
            ++program_.n_symbols;
            first_line_.push_back(line_);
            bound_.push_back(false);
        }
        return std::nullopt;
    }

    Failure value(std::string_view line) {
        const auto colon = line.find(": ");
        const auto equals = line.find(" = ");
        if (colon == std::string_view::npos || equals == std::string_view::npos || equals < colon)
            return wrong("wanted `name: type = …`, found " + quote(line));
        const auto name = line.substr(0, colon);
        if (!is_name(name)) return wrong(quote(name) + " is no name");
        if (ids_.count(std::string(name))) return wrong(std::string(name) + " is defined twice");
        const auto type = read_type(line.substr(colon + 2, equals - colon - 2));
        if (!type) return type.error();
        if (auto error = number(type->dims)) return error;
        const auto rest = line.substr(equals + 3);
        const auto word = rest.substr(0, rest.find(' '));
        const bool given =
            word == "in" || word == "host" || word == "left" || word == "right" || word == "past";
        auto error = given ? input(name, *type, word, rest.substr(word.size())) : instr(name, *type, rest);
        if (!error) ids_.emplace(name, static_cast<int>(program_.values.size()) - 1);
        return error;
    }

    static Side to_side(std::string_view word) {
        if (word == "past") return Side::past;
        return word == "left" ? Side::left : word == "right" ? Side::right : Side::none;
    }

    Failure check_side(const Input& input) const {
        if (input.side == Side::none) return std::nullopt;
        if (input.side == Side::past)
            return input.type.bar < 0 ? std::nullopt : Failure(wrong("the type of past has no |"));
        const std::string word = input.side == Side::left ? "left" : "right";
        if (program_.family != Family::matmul) return wrong(word + " needs a matmul program");
        if (input.type.bar < 0) return wrong("the type of " + word + " needs a |");
        for (const auto& other : program_.inputs)
            if (other.side == input.side) return wrong("a second " + word);
        return std::nullopt;
    }

    Failure check_order(const Order& order) const {
        if (order.empty() || program_.family != Family::elementwise) return std::nullopt;
        return wrong("an order needs a transform, rowwise or matmul program");
    }

    Failure input(std::string_view name, const Type& type, std::string_view word, std::string_view rest) {
        if (!program_.instrs.empty()) return wrong("inputs stand before instructions");
        Input input{type, word == "host", std::nullopt, to_side(word), {}};
        n_in_ += input.host ? 0 : 1;
        if (n_in_ > max_inputs) return wrong("more than " + std::to_string(max_inputs) + " inputs");
        const bool operand = input.side != Side::none;
        if (auto error = check_side(input)) return error;
        const auto order = read_order(rest, type.dims.size());
        if (!order) return order.error();
        input.order = *order;
        if (auto error = check_order(input.order)) return error;
        if (input.side == Side::past && !order->empty()) return wrong("a past has no order");
        const auto shape = read_shape(rest);
        if (!shape) return shape.error();
        input.shape = *shape;
        if (input.shape) {
            if (auto error = number(factors(*input.shape))) return error;
            if (!same_but_ones(factors(*input.shape), reordered(type.dims, input.order)))
                return wrong("shape (" + print_sizes(*input.shape) + ") holds other extents than " +
                             print_type(type));
        }
        Dims extents(program_.space.size());
        if (!input.host) {
            const auto aligned = operand ? Result<Dims>(type.dims) : align(program_, type);
            if (!aligned) return aligned.error();
            if (input.side != Side::past) extents = *aligned;
            for (const auto& dim : type.dims)
                if (!input.shape && dim.symbol >= 0) bound_[static_cast<size_t>(dim.symbol)] = true;
            for (const auto& size : input.shape.value_or(Shape()))  // a product binds none of its factors
                if (size.size() == 1 && size[0].symbol >= 0)
                    bound_[static_cast<size_t>(size[0].symbol)] = true;
        }
        program_.inputs.push_back(std::move(input));
        program_.values.push_back(Value{std::string(name), type.dtype, std::move(extents)});
        return std::nullopt;
    }

    Result<Operand> operand(std::string_view text) const {
        const auto found = ids_.find(std::string(text));
        if (found != ids_.end()) return Operand{found->second, {}};
        if (looks_literal(text)) return Operand{-1, std::string(text)};
        return wrong(quote(text) + " is neither a value defined above nor a literal");
    }

    Failure instr(std::string_view name, const Type& type, std::string_view rest) {
        if (program_.instrs.size() == max_instructions)
            return wrong("more than " + std::to_string(max_instructions) + " instructions");
        Instr instr;
        instr.type = type;
        const auto brace = rest.find(" {");
        if (brace != std::string_view::npos) {
            if (rest.back() != '}') return wrong("{ without }");
            const auto attributes = read_attributes(rest.substr(brace + 2, rest.size() - brace - 3));
            if (!attributes) return attributes.error();
            instr.attributes = *attributes;
            rest = rest.substr(0, brace);
        }
        const auto word = rest.substr(0, rest.find(' '));
        instr.op = find_op(word);
        if (instr.op < 0) return wrong("no operator " + quote(word));
        if (word.size() < rest.size()) {
            for (const auto piece : split(rest.substr(word.size() + 1), ", ")) {
                const auto read = operand(piece);
                if (!read) return read.error();
                instr.operands.push_back(*read);
            }
        }
        const auto extents = align(program_, type);
        if (!extents) return extents.error();
        if (const auto error = check_instr(program_, instr, *extents)) return error;
        program_.instrs.push_back(std::move(instr));
        program_.values.push_back(Value{std::string(name), type.dtype, *extents});
        return std::nullopt;
    }

    Failure outputs(std::string_view line) {
        if (line.substr(0, 4) != "out ") return wrong("wanted the last line `out …`, found " + quote(line));
        auto rest = line.substr(4);
        while (!rest.empty()) {
            const auto item = read_output(rest);
            if (!item) return item.error();
            if (auto error = output(*item)) return error;
            rest.remove_prefix(item->length);
            if (rest.empty()) break;
            if (rest.substr(0, 2) != ", " || rest.size() == 2)
                return wrong("wanted `, name`, found " + quote(rest));
            rest.remove_prefix(2);
        }
        return finish();
    }

    // The value of that name, which an output may be.
    Result<int> output_value(std::string_view name, bool joined) const {
        const auto found = ids_.find(std::string(name));
        if (found == ids_.end()) return wrong("no value " + quote(name));
        for (const auto& other : program_.outputs)
            if (other.value == found->second && !other.joined() && !joined)
                return wrong(std::string(name) + " is an output twice");
        if (!program_.is_input(found->second)) return found->second;
        const Input& input = program_.inputs[static_cast<size_t>(found->second)];
        if (input.host) return wrong(std::string(name) + " is a host input");
        if (input.side == Side::past) return wrong(std::string(name) + " is a past");
        if (input.side != Side::none) return wrong(std::string(name) + " is an operand of the product");
        return found->second;
    }

    Failure output(const OutputText& text) {
        if (program_.outputs.size() == max_outputs)
            return wrong("more than " + std::to_string(max_outputs) + " outputs");
        const auto found = output_value(text.name, !text.past.empty());
        if (!found) return found.error();
        const Value& value = program_.values[static_cast<size_t>(*found)];
        for (int i = 0; i < program_.lead_rank(); ++i)
            if (value.extents[static_cast<size_t>(i)] != program_.space[static_cast<size_t>(i)])
                return wrong("output " + value.name + " lacks axis " +
                             program_.space[static_cast<size_t>(i)].text());
        auto rest = text.own;
        const auto order = read_order(rest, value.extents.size());
        if (!order) return order.error();
        if (auto error = check_order(*order)) return error;
        const auto shape = read_shape(rest);
        if (!shape) return shape.error();
        if (*shape && !same_but_ones(factors(**shape), reordered(value.extents, *order)))
            return wrong("shape (" + print_sizes(**shape) + ") holds other extents than " + value.name);
        Output output{*found, *shape, *order, -1, text.axis, text.before};
        if (!text.past.empty()) {
            const auto past = ids_.find(std::string(text.past));
            if (past == ids_.end()) return wrong("no value " + quote(text.past));
            output.past = past->second;
            if (auto error = check_join(program_, output)) return error;
        }
        program_.outputs.push_back(std::move(output));
        return std::nullopt;
    }

    bool has_product() const {
        return !program_.instrs.empty() && program_.instrs.front().entry().kind == OpKind::product;
    }

    bool has_order() const {
        const auto ordered = [](const auto& one) { return !one.order.empty(); };
        return std::any_of(program_.inputs.begin(), program_.inputs.end(), ordered) ||
               std::any_of(program_.outputs.begin(), program_.outputs.end(), ordered);
    }

    Failure finish() {
        if (program_.outputs.empty()) return wrong("no output");
        if (program_.family == Family::matmul && !has_product()) return wrong("no matmul instruction");
        if (program_.family == Family::transform && !has_order())
            return wrong("no order: a program without one is elementwise");
        if (const auto past = unjoined(program_)) return wrong(*past + " is a past that no output has");
        for (size_t i = 0; i < bound_.size(); ++i)
            if (!bound_[i])
                return Error{first_line_[i],
                             "d" + std::to_string(i) + " stands alone in the shape of no `in` line"};
        return std::nullopt;
    }

    Program program_;
    std::unordered_map<std::string, int> ids_;
    std::vector<int> first_line_;  // by symbol
    std::vector<bool> bound_;      // by symbol: an `in` line has it
    int line_ = 1;
    int n_in_ = 0;
};

inline Result<Program> parse(std::string_view text) { return Parser().parse(text); }

}  // namespace ascend_fuse
