// Runs program.mlirbc, with weights.npz, on the example: through PJRT's C API, without Python, JAX or TensorFlow.
// Exits with 1 if a result is not the one that was exported.
//
//   sh run_cpp.sh stablehlo                builds this and runs it
//   ./run_stablehlo PLUGIN [FOLDER]        PLUGIN is a library that exports GetPjrtApi
//
// pjrt_c_api.h and a plugin for the CPU are in the package xla-cpu-pjrt of PyPI.
#include "arrays.h"

#include <dlfcn.h>

#include "pjrt_c_api.h"

const PJRT_Api* api;

template <typename Args>
Args sized(size_t size) {
  Args args;
  std::memset(&args, 0, sizeof args);
  args.struct_size = size;
  return args;
}
#define ARGS(name) sized<name##_Args>(name##_Args_STRUCT_SIZE)

void check(PJRT_Error* error) {
  if (error == nullptr) return;
  auto args = ARGS(PJRT_Error_Message);
  args.error = error;
  api->PJRT_Error_Message(&args);
  fail(std::string(args.message, args.message_size));
}

void wait(PJRT_Event* event) {
  auto args = ARGS(PJRT_Event_Await);
  args.event = event;
  check(api->PJRT_Event_Await(&args));
}

const std::map<std::string, PJRT_Buffer_Type> kTypes = {
    {"b1", PJRT_Buffer_Type_PRED}, {"i1", PJRT_Buffer_Type_S8},   {"i2", PJRT_Buffer_Type_S16},
    {"i4", PJRT_Buffer_Type_S32},  {"i8", PJRT_Buffer_Type_S64},  {"u1", PJRT_Buffer_Type_U8},
    {"u2", PJRT_Buffer_Type_U16},  {"u4", PJRT_Buffer_Type_U32},  {"u8", PJRT_Buffer_Type_U64},
    {"f2", PJRT_Buffer_Type_F16},  {"f4", PJRT_Buffer_Type_F32},  {"f8", PJRT_Buffer_Type_F64},
    {"c8", PJRT_Buffer_Type_C64},  {"c16", PJRT_Buffer_Type_C128}, {"bfloat16", PJRT_Buffer_Type_BF16}};

PJRT_Client* create_client(const char* plugin) {
  void* library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
  if (!library) fail(dlerror());
  auto get = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
  if (!get) fail("expected a library that exports GetPjrtApi, found one without: " + std::string(plugin));
  api = get();
  auto initialize = ARGS(PJRT_Plugin_Initialize);
  check(api->PJRT_Plugin_Initialize(&initialize));
  auto args = ARGS(PJRT_Client_Create);
  check(api->PJRT_Client_Create(&args));
  return args.client;
}

PJRT_LoadedExecutable* compile(PJRT_Client* client, std::string code) {
  auto program = sized<PJRT_Program>(PJRT_Program_STRUCT_SIZE);
  program.code = code.data(), program.code_size = code.size();
  program.format = "mlir", program.format_size = 4;
  // CompileOptionsProto: executable_build_options {num_replicas: 1 num_partitions: 1}
  const char options[] = "\x1a\x04\x20\x01\x28\x01";
  auto args = ARGS(PJRT_Client_Compile);
  args.client = client, args.program = &program;
  args.compile_options = options, args.compile_options_size = sizeof options - 1;
  check(api->PJRT_Client_Compile(&args));
  return args.executable;
}

PJRT_Buffer* to_device(PJRT_Client* client, const std::string& name, const Array& array) {
  if (!kTypes.count(array.dtype)) fail("expected " + name + " of a type that is run here, found " + array.dtype);
  auto devices = ARGS(PJRT_Client_AddressableDevices);
  devices.client = client;
  check(api->PJRT_Client_AddressableDevices(&devices));
  auto args = ARGS(PJRT_Client_BufferFromHostBuffer);
  args.client = client, args.device = devices.addressable_devices[0];
  args.data = array.bytes.data(), args.type = kTypes.at(array.dtype);
  args.dims = array.shape.data(), args.num_dims = array.shape.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  check(api->PJRT_Client_BufferFromHostBuffer(&args));
  wait(args.done_with_host_buffer);
  return args.buffer;
}

Array to_host(PJRT_Buffer* buffer) {
  auto type = ARGS(PJRT_Buffer_ElementType);
  type.buffer = buffer;
  check(api->PJRT_Buffer_ElementType(&type));
  auto shape = ARGS(PJRT_Buffer_Dimensions);
  shape.buffer = buffer;
  check(api->PJRT_Buffer_Dimensions(&shape));
  Array array{"", {shape.dims, shape.dims + shape.num_dims}, ""};
  for (const auto& [name, number] : kTypes)
    if (number == type.type) array.dtype = name;
  auto args = ARGS(PJRT_Buffer_ToHostBuffer);
  args.src = buffer;
  check(api->PJRT_Buffer_ToHostBuffer(&args));  // without a destination it says the size
  array.bytes.resize(args.dst_size);
  args.dst = array.bytes.data();
  check(api->PJRT_Buffer_ToHostBuffer(&args));
  wait(args.event);
  return array;
}

std::vector<PJRT_Buffer*> execute(PJRT_LoadedExecutable* loaded, const std::vector<PJRT_Buffer*>& arguments) {
  auto get = ARGS(PJRT_LoadedExecutable_GetExecutable);
  get.loaded_executable = loaded;
  check(api->PJRT_LoadedExecutable_GetExecutable(&get));
  auto count = ARGS(PJRT_Executable_NumOutputs);
  count.executable = get.executable;
  check(api->PJRT_Executable_NumOutputs(&count));
  std::vector<PJRT_Buffer*> results(count.num_outputs);
  PJRT_Buffer* const* argument_list = arguments.data();
  PJRT_Buffer** result_list = results.data();
  auto options = sized<PJRT_ExecuteOptions>(PJRT_ExecuteOptions_STRUCT_SIZE);
  auto args = ARGS(PJRT_LoadedExecutable_Execute);
  args.executable = loaded, args.options = &options, args.num_devices = 1;
  args.argument_lists = &argument_list, args.num_args = arguments.size(), args.output_lists = &result_list;
  check(api->PJRT_LoadedExecutable_Execute(&args));
  return results;
}

int main(int count, char** words) {
  if (count < 2) fail("usage: run_stablehlo PLUGIN [FOLDER]");
  const std::string folder = count > 2 ? words[2] : ".";
  auto arrays = read_arrays(folder + "/weights.npz");
  arrays.merge(read_arrays(folder + "/example.npz"));
  PJRT_Client* client = create_client(words[1]);
  PJRT_LoadedExecutable* program = compile(client, read_file(folder + "/program.mlirbc"));
  std::vector<PJRT_Buffer*> arguments;
  std::vector<std::string> names;  // of the results
  Names inputs;
  std::istringstream order(read_file(folder + "/order.txt"));
  for (std::string name; std::getline(order, name);) {
    if (!arrays.count(name)) fail("expected an array " + name + ", found none");
    if (name.rfind("result/", 0) == 0)
      names.push_back(name);
    else
      arguments.push_back(to_device(client, name, arrays[name]));
    if (name.rfind("input/", 0) == 0) inputs.insert(name);
  }
  check_names(arrays, "input/", inputs);
  check_names(arrays, "result/", {names.begin(), names.end()});
  const auto results = execute(program, arguments);
  if (names.empty() || results.size() != names.size())
    fail("expected " + std::to_string(names.size()) + " results, found " + std::to_string(results.size()));
  bool all_close = true;
  for (size_t place = 0; place < names.size(); ++place)
    all_close &= is_close(names[place], to_host(results[place]), arrays[names[place]]);
  std::_Exit(all_close ? 0 : 1);
}
