// Runs saved_model/ on the example: through TensorFlow's C API, without Python.
// Exits with 1 if a result is not the one that was exported.
//
//   sh run_cpp.sh saved_model              builds this and runs it
//   ./run_saved_model [FOLDER]
//
// The package tensorflow of PyPI has the headers and libtensorflow_cc.so.2.
#include "arrays.h"

#include "tensorflow/c/c_api.h"

const std::map<std::string, TF_DataType> kTypes = {
    {"b1", TF_BOOL},  {"i1", TF_INT8},   {"i2", TF_INT16},  {"i4", TF_INT32},     {"i8", TF_INT64},
    {"u1", TF_UINT8}, {"u2", TF_UINT16}, {"u4", TF_UINT32}, {"u8", TF_UINT64},    {"f2", TF_HALF},
    {"f4", TF_FLOAT}, {"f8", TF_DOUBLE}, {"c8", TF_COMPLEX64}, {"c16", TF_COMPLEX128}, {"bfloat16", TF_BFLOAT16}};

void check(TF_Status* status) {
  if (TF_GetCode(status) != TF_OK) fail(TF_Message(status));
}

// The fields of a message of protobuf: number and contents, of those with contents.
std::vector<std::pair<int, std::string>> fields(const std::string& message) {
  std::vector<std::pair<int, std::string>> found;
  size_t at = 0;
  auto integer = [&] {
    uint64_t value = 0;
    for (int shift = 0; at < message.size() && shift < 64; shift += 7) {
      const uint8_t byte = message[at++];
      value |= uint64_t{byte & 127u} << shift;
      if (byte < 128) break;
    }
    return value;
  };
  while (at < message.size()) {
    const uint64_t key = integer();
    if ((key & 7) == 0) integer();
    else if ((key & 7) == 1) at += 8;
    else if ((key & 7) == 5) at += 4;
    else {
      const uint64_t length = integer();
      if (length > message.size() - at) fail("expected a signature, found a damaged one");
      found.emplace_back(key >> 3, message.substr(at, length));
      at += length;
    }
  }
  return found;
}

std::string field(const std::string& message, int number) {
  for (const auto& [found, contents] : fields(message))
    if (found == number) return contents;
  return "";
}

// The tensors of a signature, by their names in the example: of its inputs (1) or its outputs (2).
std::map<std::string, std::string> tensors(const std::string& meta_graph, int inputs_or_outputs) {
  const std::string prefix = inputs_or_outputs == 1 ? "input/" : "result/";
  std::map<std::string, std::string> names;
  for (const auto& [number, entry] : fields(meta_graph))
    if (number == 5 && field(entry, 1) == "serving_default")
      for (const auto& [kind, tensor] : fields(field(entry, 2)))
        if (kind == inputs_or_outputs) names[prefix + field(tensor, 1)] = field(field(tensor, 2), 1);
  return names;
}

Names names_of(const std::map<std::string, std::string>& tensors) {
  Names names;
  for (const auto& [name, tensor] : tensors) names.insert(name);
  return names;
}

TF_Output output(TF_Graph* graph, const std::string& tensor) {
  const size_t colon = tensor.rfind(':');
  TF_Operation* operation = TF_GraphOperationByName(graph, tensor.substr(0, colon).c_str());
  if (!operation || colon == std::string::npos) fail("expected a tensor of the graph, found " + tensor);
  return {operation, std::stoi(tensor.substr(colon + 1))};
}

TF_Tensor* to_tensor(const std::string& name, const Array& array) {
  if (!kTypes.count(array.dtype)) fail("expected " + name + " of a type that is run here, found " + array.dtype);
  TF_Tensor* tensor =
      TF_AllocateTensor(kTypes.at(array.dtype), array.shape.data(), array.shape.size(), array.bytes.size());
  std::memcpy(TF_TensorData(tensor), array.bytes.data(), array.bytes.size());
  return tensor;
}

Array to_array(const TF_Tensor* tensor) {
  Array array{"", {}, {static_cast<const char*>(TF_TensorData(tensor)), TF_TensorByteSize(tensor)}};
  for (int axis = 0; axis < TF_NumDims(tensor); ++axis) array.shape.push_back(TF_Dim(tensor, axis));
  for (const auto& [name, type] : kTypes)
    if (type == TF_TensorType(tensor)) array.dtype = name;
  return array;
}

int main(int count, char** words) {
  const std::string folder = count > 1 ? words[1] : ".";
  auto arrays = read_arrays(folder + "/example.npz");
  TF_Status* status = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Buffer* buffer = TF_NewBuffer();
  const char* tags[] = {"serve"};
  TF_Session* session = TF_LoadSessionFromSavedModel(
      TF_NewSessionOptions(), nullptr, (folder + "/saved_model").c_str(), tags, 1, graph, buffer, status);
  check(status);
  const std::string meta_graph(static_cast<const char*>(buffer->data), buffer->length);
  std::vector<TF_Output> inputs, outputs;
  std::vector<TF_Tensor*> values, results;
  std::vector<std::string> names;
  const auto input_tensors = tensors(meta_graph, 1), result_tensors = tensors(meta_graph, 2);
  if (result_tensors.empty()) fail("expected a signature serving_default with results, found none");
  check_names(arrays, "input/", names_of(input_tensors));
  check_names(arrays, "result/", names_of(result_tensors));
  for (const auto& [name, tensor] : input_tensors) {
    inputs.push_back(output(graph, tensor));
    values.push_back(to_tensor(name, arrays[name]));
  }
  for (const auto& [name, tensor] : result_tensors) {
    outputs.push_back(output(graph, tensor));
    names.push_back(name);
  }
  results.resize(names.size());
  TF_SessionRun(session, nullptr, inputs.data(), values.data(), inputs.size(), outputs.data(), results.data(),
                outputs.size(), nullptr, 0, nullptr, status);
  check(status);
  bool all_close = true;
  for (size_t place = 0; place < names.size(); ++place)
    all_close &= is_close(names[place], to_array(results[place]), arrays[names[place]]);
  std::_Exit(all_close ? 0 : 1);
}
