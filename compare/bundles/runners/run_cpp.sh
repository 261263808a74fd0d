#!/bin/sh
# Builds a runner in C++ and runs the example by it; exits with 1 if a result is not the one that was exported.
#
#   sh run_cpp.sh stablehlo       program.mlirbc, by the package xla-cpu-pjrt: without Python, JAX or TensorFlow
#   sh run_cpp.sh saved_model     saved_model/, by the package tensorflow: its library, without Python
#
# Python only says here where the packages are; the programs need a library each, and no Python.
set -eu
cd "$(dirname "$0")"
where() { ${PYTHON:-python} -c "import importlib.util as u; print(u.find_spec('$1').submodule_search_locations[0])"; }
case "${1:-}" in
stablehlo)
    package=$(where xla_plugins.xla_cpu_pjrt)
    ${CXX:-c++} -std=c++17 -O1 -I"$package/include" run_stablehlo.cc -o run_stablehlo -ldl
    ./run_stablehlo "$package/xla_cpu_pjrt.so"
    ;;
saved_model)
    package=$(where tensorflow)
    ${CXX:-c++} -std=c++17 -O1 -I"$package/include" run_saved_model.cc -o run_saved_model \
        "$package/libtensorflow_cc.so.2" "$package/libtensorflow_framework.so.2" "-Wl,-rpath,$package"
    ./run_saved_model
    ;;
*)
    echo "usage: sh run_cpp.sh stablehlo | saved_model" >&2
    exit 2
    ;;
esac
