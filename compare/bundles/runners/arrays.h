// What both runners share: the arrays of an .npz file, and a result compared with the result that was exported.
#pragma once

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

constexpr double kClose = 1e-5;  // of a result's largest value: another processor adds in another order

struct Array {
  std::string dtype;  // NumPy's, without its byte order: f4, i8, b1; or the name of one that NumPy lacks: bfloat16
  std::vector<int64_t> shape;
  std::string bytes;  // row by row, little-endian
};

[[noreturn]] inline void fail(const std::string& why) {
  std::cerr << why << std::endl;
  std::_Exit(1);  // the libraries' own threads may still run
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail("expected a file, found none: " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string slice(const std::string& bytes, size_t start, size_t length) {
  if (start > bytes.size() || length > bytes.size() - start) fail("expected a whole .npz file, found its end");
  return bytes.substr(start, length);
}

inline uint64_t number(const std::string& bytes, size_t start, size_t length) {
  uint64_t value = 0;
  std::memcpy(&value, slice(bytes, start, length).data(), length);
  return value;
}

inline Array parse_npy(const std::string& file, size_t start, size_t& end) {
  if (slice(file, start, 6) != "\x93NUMPY") fail("expected arrays of NumPy, found something else");
  const size_t width = number(file, start + 6, 1) == 1 ? 2 : 4;
  const size_t length = number(file, start + 8, width), data = start + 8 + width + length;
  const std::string header = slice(file, start + 8 + width, length);
  if (header.find("'fortran_order': False") == std::string::npos) fail("expected arrays row by row, found columns");
  const size_t descr = header.find("'descr': '") + 11, shape = header.find("'shape': (") + 10;
  Array array{header.substr(descr, header.find('\'', descr) - descr), {}, ""};
  std::istringstream sizes(header.substr(shape, header.find(')', shape) - shape));
  size_t count = std::stoul(array.dtype.substr(1));
  for (int64_t size; sizes >> size; sizes.ignore(1)) array.shape.push_back(size), count *= size;
  array.bytes = slice(file, data, count);
  end = data + count;
  return array;
}

// Files within .npz are stored uncompressed, one after the other, by numpy.savez.
inline std::map<std::string, Array> read_arrays(const std::string& path) {
  const std::string file = read_file(path);
  std::map<std::string, Array> arrays;
  for (size_t at = 0; slice(file, at, 4) == "PK\3\4";) {
    if (number(file, at + 8, 2) != 0) fail("expected an uncompressed file, found a compressed one: " + path);
    const size_t length = number(file, at + 26, 2), extra = number(file, at + 28, 2);
    std::string name = slice(file, at + 30, length);
    Array array = parse_npy(file, at + 30 + length + extra, at);
    name = name.substr(0, name.rfind(".npy"));
    if (const size_t mark = name.find("::"); mark != std::string::npos) {
      array.dtype = name.substr(mark + 2);
      name = name.substr(0, mark);
    }
    arrays[name] = array;
  }
  return arrays;
}

using Names = std::set<std::string>;

inline std::string list(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

// Refuses an example whose inputs or results, by the prefix of their names, are not those of the program.
inline void check_names(const std::map<std::string, Array>& example, const std::string& prefix, const Names& expected) {
  Names found;
  for (const auto& [name, array] : example)
    if (name.rfind(prefix, 0) == 0) found.insert(name);
  if (found != expected) fail("expected " + list(expected) + " in the example, found " + list(found));
}

inline double half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 31  ? (fraction ? NAN : INFINITY)
                      : exponent == 0 ? std::ldexp(fraction, -24)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -size : size;
}

template <typename T>
T element(const Array& array, size_t index) {
  T value;
  std::memcpy(&value, array.bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

inline std::complex<double> value(const Array& array, size_t index) {
  if (array.dtype == "f4") return element<float>(array, index);
  if (array.dtype == "f8") return element<double>(array, index);
  if (array.dtype == "f2") return half(element<uint16_t>(array, index));
  if (array.dtype == "c8") return std::complex<double>(element<std::complex<float>>(array, index));
  if (array.dtype == "c16") return element<std::complex<double>>(array, index);
  if (array.dtype != "bfloat16") fail("expected a result of a type that is compared here, found " + array.dtype);
  const uint32_t bits = uint32_t{element<uint16_t>(array, index)} << 16;
  float wide;
  std::memcpy(&wide, &bits, sizeof wide);
  return wide;
}

inline double difference_of(double actual, double expected) {
  if (actual == expected || (std::isnan(actual) && std::isnan(expected))) return 0;
  return actual - expected;
}

// Whether a result is the one that was exported; prints by how much it differs, by the same rule as run.py: an infinity
// that was exported, or a NaN for a NaN, differs by 0. A NaN for a number is never close.
inline bool is_close(const std::string& name, const Array& actual, const Array& expected) {
  if (actual.dtype != expected.dtype || actual.shape != expected.shape || actual.bytes.size() != expected.bytes.size())
    fail("expected " + name + " of the type and shape that were exported, found " + actual.dtype);
  double difference = 0, largest = 0;
  if (std::strchr("iub", expected.dtype[0]) && expected.dtype != "bfloat16") {
    difference = actual.bytes == expected.bytes ? 0 : INFINITY;
  } else {
    size_t count = 1;
    for (const int64_t size : expected.shape) count *= size;
    for (size_t index = 0; index < count; ++index) {
      const std::complex<double> found = value(actual, index), wanted = value(expected, index);
      const double real = difference_of(found.real(), wanted.real()), imag = difference_of(found.imag(), wanted.imag());
      const double one = std::isnan(real) || std::isnan(imag) ? NAN : std::hypot(real, imag);
      difference = std::isnan(one) || std::isnan(difference) ? NAN : std::fmax(difference, one);
      if (std::isfinite(wanted.real()) && std::isfinite(wanted.imag())) largest = std::fmax(largest, std::abs(wanted));
    }
    difference = difference == 0 ? 0 : largest == 0 ? INFINITY : difference / largest;
  }
  std::cout << name << ": differs by " << difference << " of its largest value" << std::endl;
  return difference <= kClose;
}
