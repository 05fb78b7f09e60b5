# make demo | test | check | sanitize | wheel. PYTHON chooses the interpreter (3.11 or later).
PYTHON ?= python3
VENV := .venv
VENV_NP1 := .venv-np1
VENV_SANITIZE := .venv-sanitize
BIN := $(VENV)/bin
DEMO := demo
WHEEL := build/wheel
MODEL := chython-rxnmap
CPP := $(shell find kernels -name '*.h' -o -name '*.hpp' -o -name '*.cc' -o -name '*.cpp' 2>/dev/null)

# What numpy 1 has to run: the edges where arrays pass between numpy, ONNX Runtime and the extension.
NP1_TESTS ?= tests/cli tests/report tests/verify tests/program tests/pipeline tests/attack

# What runs code of ours in C++: the tests that build a library of their own build it with sanitizers too.
SANITIZERS := address,undefined
SANITIZE_TESTS ?= tests/emulator tests/kernels tests/runtime tests/engine tests/program

.PHONY: demo test check np1 sanitize wheel clean
.DELETE_ON_ERROR:

wheel: $(WHEEL)/built

demo: $(VENV)/user
	mkdir -p $(DEMO)
	model=$$($(BIN)/python -m models fetch $(MODEL)) && \
	$(BIN)/ascend-fuse optimize "$$model" -o $(DEMO)/fused.onnx \
	    --report $(DEMO)/report.html --report $(DEMO)/report.json --report $(DEMO)/report.md && \
	$(BIN)/ascend-fuse verify "$$model" $(DEMO)/fused.onnx --kernels --dim seq_len=16
	@echo
	@echo "Fused model: $(DEMO)/fused.onnx"
	@echo "Reports:     $(DEMO)/report.html $(DEMO)/report.md $(DEMO)/report.json"
	@echo "The command: $(BIN)/ascend-fuse (or: source $(BIN)/activate)"

test: np1 check $(WHEEL)/built
	$(BIN)/pytest -n 2 -q

check: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --pythonpath $(BIN)/python
	$(if $(CPP),$(BIN)/clang-format --dry-run -Werror $(CPP))

# Python does not free all at exit, so leaks are not looked for; it knows no C++, so the sanitizer finds no exceptions
# unless their library is loaded with it.
sanitize: $(VENV_SANITIZE)/dev
	ASCEND_FUSE_SANITIZE=$(SANITIZERS) ASAN_OPTIONS=detect_leaks=0 \
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" \
	$(VENV_SANITIZE)/bin/python -m pytest -q $(SANITIZE_TESTS)

np1: $(VENV_NP1)/dev
	$(VENV_NP1)/bin/python -c "import numpy; assert numpy.__version__ < '2', numpy.__version__"
	$(VENV_NP1)/bin/pytest -n 2 -q $(NP1_TESTS) --ignore tests/report/test_report_browser.py

# Editable, so that Python finds the extension in the checkout too; built again when a source is newer than the mark.
SOURCES := pyproject.toml CMakeLists.txt $(shell find kernels cmake -type f 2>/dev/null)

$(WHEEL)/built: $(SOURCES) $(shell find ascend_fuse rules -type f -not -name '*.pyc' 2>/dev/null)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	rm -rf $(WHEEL)
	$(BIN)/pip wheel --quiet --no-deps -w $(WHEEL) .
	touch $@

$(VENV)/user: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Building the engine, the emulator and the kernels for it: five minutes on two cores, the first time"
	$(BIN)/pip install --quiet -e .
	touch $@

$(VENV)/dev: $(VENV)/user
	$(BIN)/pip install --quiet -e '.[dev]'
	touch $@

$(VENV_NP1)/dev: $(SOURCES)
	test -x $(VENV_NP1)/bin/python || $(PYTHON) -m venv $(VENV_NP1)
	$(VENV_NP1)/bin/pip install --quiet -e '.[dev]' 'numpy<2'
	touch $@

# The extension and the plugin with sanitizers, in an environment and a folder of their own.
$(VENV_SANITIZE)/dev: $(SOURCES)
	test -x $(VENV_SANITIZE)/bin/python || $(PYTHON) -m venv $(VENV_SANITIZE)
	$(VENV_SANITIZE)/bin/pip install --quiet -e '.[dev]' -C build-dir=build/sanitize \
	    -C cmake.define.ASCEND_FUSE_SANITIZE=$(SANITIZERS) -C cmake.build-type=RelWithDebInfo \
	    -C cmake.define.CMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1"
	touch $@

clean:
	rm -rf $(VENV) $(VENV_NP1) $(VENV_SANITIZE) build $(DEMO)
