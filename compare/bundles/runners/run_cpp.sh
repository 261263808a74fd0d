#!/bin/sh
# Builds a runner in C++ and runs the example by it; exits with 1 if a result is not the one that was exported.
#
#   sh run_cpp.sh stablehlo       program.mlirbc, by the package xla-cpu-pjrt: runs without Python, JAX or TensorFlow
#   sh run_cpp.sh saved_model     saved_model/, by the package tensorflow: its library, runs without Python
#
# For Linux. Python only says here where the packages are; the programs that are built need a library each, and no Python.
set -eu
where() {
    "${PYTHON:-python3}" -c '
import importlib.util, os, sys
_, module, package, requirement = sys.argv
try:
    print(os.path.abspath(importlib.util.find_spec(module).submodule_search_locations[0]))
except (AttributeError, ImportError):
    line = f"expected the package {package} for {sys.executable}, found none: pip install {requirement}"
    raise SystemExit(line) from None
' "$@"
}
case "${1:-}" in
stablehlo) package=$(where xla_plugins.xla_cpu_pjrt xla-cpu-pjrt "'jaxport[pjrt]'") ;;
saved_model) package=$(where tensorflow tensorflow tensorflow) ;;
*)
    echo "usage: sh run_cpp.sh stablehlo | saved_model" >&2
    exit 2
    ;;
esac
CDPATH= cd -- "$(dirname -- "$0")"
case "$1" in
stablehlo)
    ${CXX:-c++} -std=c++17 -O1 -I"$package/include" run_stablehlo.cc -o run_stablehlo -ldl
    ./run_stablehlo "$package/xla_cpu_pjrt.so"
    ;;
saved_model)
    # -Xlinker takes a path with a comma, which -Wl, would part there.
    ${CXX:-c++} -std=c++17 -O1 -I"$package/include" run_saved_model.cc -o run_saved_model \
        "$package/libtensorflow_cc.so.2" "$package/libtensorflow_framework.so.2" -Xlinker -rpath -Xlinker "$package"
    ./run_saved_model
    ;;
esac
