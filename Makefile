# sballoc: needs flex, bison, jansson, make and a C11 compiler. `make check` needs cmocka as well.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= cc
FLEX ?= flex
BISON ?= bison
PKG_CONFIG ?= pkg-config
VERSION := $(shell sed -n 's/^.define SBALLOC_VERSION "\(.*\)"/\1/p' src/cli/options.h)
WARN = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef \
       -Wpointer-arith -Wwrite-strings -Wcast-qual -Wformat=2 -Wconversion -Wno-sign-conversion
CFLAGS ?= -O2 -g
# Every compiler and processor makes the same bytes: a product and a sum are rounded one by one.
SAME = -ffp-contract=off
SANITIZE = -O1 -g -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer
JANSSON_CFLAGS := $(shell $(PKG_CONFIG) --cflags jansson 2>/dev/null)
JANSSON_LIBS := $(or $(shell $(PKG_CONFIG) --libs jansson 2>/dev/null),-ljansson)
ALL_CFLAGS = -std=c11 -D_POSIX_C_SOURCE=200809L -Isrc -I$(BUILD)/gen $(JANSSON_CFLAGS) $(CPPFLAGS) \
             $(WARN) $(CFLAGS) $(SAME) -pthread
LDLIBS ?= $(JANSSON_LIBS) -lm

LAYERS = support ir text analysis place spill bound verify driver output
SOURCES = $(filter-out %_test.c,$(foreach layer,$(LAYERS),$(wildcard src/$(layer)/*.c src/$(layer)/*/*.c)))
GENERATED = lf.tab lf.yy
OBJECTS = $(SOURCES:src/%.c=$(BUILD)/%.o) $(GENERATED:%=$(BUILD)/gen/%.o)
CLI = $(patsubst src/%.c,$(BUILD)/%.o,$(filter-out %_test.c,$(wildcard src/cli/*.c)))
UNIT_TESTS = $(patsubst src/%.c,$(BUILD)/%,$(wildcard src/*/*_test.c src/*/*/*_test.c))
TEST_HELP = $(patsubst src/%.c,$(BUILD)/%.o,$(filter-out %_test.c %_main.c,$(wildcard src/test/*.c)))
TEST_TOOLS = $(patsubst src/test/%_main.c,$(BUILD)/test/%,$(wildcard src/test/*_main.c))

COMPLETIONS = $(BUILD)/completions/sballoc $(BUILD)/completions/_sballoc

.PHONY: all check check-long bench same never-worse faults mutants slowest fuzz analyse coverage lint install uninstall installcheck dist clean tests sanitised
.SECONDARY:
.DELETE_ON_ERROR:

all: $(BUILD)/sballoc $(COMPLETIONS)

$(BUILD)/sballoc: $(CLI) $(BUILD)/libsballoc.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/libsballoc.a: $(OBJECTS)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/%.o: src/%.c | $(BUILD)/gen/lf.tab.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/gen/lf.tab.c $(BUILD)/gen/lf.tab.h &: grammar/lf.y
	@mkdir -p $(@D)
	$(BISON) -Wall -Werror --header=$(BUILD)/gen/lf.tab.h -o $(BUILD)/gen/lf.tab.c $<

$(BUILD)/gen/lf.yy.c $(BUILD)/gen/lf.yy.h &: grammar/lf.l
	@mkdir -p $(@D)
	$(FLEX) --header-file=$(BUILD)/gen/lf.yy.h -o $(BUILD)/gen/lf.yy.c $<

# Generated code is ours in its rules only: two warnings are off for it.
$(BUILD)/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/gen/lf.tab.h $(BUILD)/gen/lf.yy.h
	$(CC) $(ALL_CFLAGS) -Wno-conversion -Wno-unused-function -MMD -MP -c -o $@ $<

# What the page of --html holds, as arrays of bytes.
PAGE_PARTS = model view map panel input
$(BUILD)/gen/page_js.h: $(PAGE_PARTS:%=src/output/page/%.js)
$(BUILD)/gen/page_css.h: src/output/page/page.css
$(BUILD)/gen/page_%.h:
	@mkdir -p $(@D)
	{ echo "static const unsigned char PAGE_$$(echo $* | tr a-z A-Z)[] = {"; \
	  cat $^ | od -An -v -tx1 | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g'; echo "};"; } > $@

$(BUILD)/output/page.o: $(BUILD)/gen/page_js.h $(BUILD)/gen/page_css.h

# Unit tests: src/LAYER/NAME_test.c is a program; src/test/NAME_main.c is a tool that tests use.
$(BUILD)/%_test: $(BUILD)/%_test.o $(TEST_HELP) $(BUILD)/libsballoc.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

$(BUILD)/test/%: $(BUILD)/test/%_main.o $(TEST_HELP) $(BUILD)/libsballoc.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/test/fuzzer: $(BUILD)/test/fuzzing/entry.o $(TEST_HELP) $(BUILD)/libsballoc.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -fsanitize=fuzzer -o $@ $^ $(LDLIBS)

# What makes calls of the system fail: preloaded, on Linux.
$(BUILD)/test/faults.so: src/test/faults/shim.c
	@mkdir -p $(@D)
	$(CC) -std=c11 $(WARN) -Wno-pedantic -O1 -fPIC -shared -o $@ $< -ldl

tests: $(BUILD)/sballoc $(UNIT_TESTS) $(TEST_TOOLS)

sanitised:
	$(MAKE) BUILD=$(BUILD)/sanitised CFLAGS="$(SANITIZE) $(EXTRA_CFLAGS)" tests

# Tests that take long, src/LAYER/NAME_long_test.c and scripts/test/long/NAME, are check-long's.
check: all sanitised $(BUILD)/test/faults.so
	scripts/test/run $(BUILD)

check-long: all sanitised $(BUILD)/test/faults.so
	scripts/test/run --long $(BUILD)

# More effort, more room and another order of declarations never cost more: half an hour.
never-worse: all sanitised
	scripts/test/never_worse --all $(BUILD)

# Each call of the system fails in turn.
faults: all sanitised $(BUILD)/test/faults.so
	scripts/test/faults --all $(BUILD)

# Results changed in each way: the referee against a run byte by byte.
MUTANTS ?= 1000
MUTANT_KERNELS = $(filter-out %0.lf %12.lf,$(wildcard testdata/kernels/*.lf testdata/loops/*.lf)) \
                 $(wildcard testdata/loops/*_600.lf testdata/loops/*_1500.lf testdata/loops/*_512.lf) \
                 $(wildcard testdata/copies/*.lf testdata/sources/*.lf)
mutants: $(BUILD)/test/mutants
	$< --programs=$(MUTANTS) $(MUTANT_KERNELS)

# Looks for the inputs that take longest for their size.
SLOWEST ?= 300
slowest: all $(BUILD)/test/generate
	scripts/slowest $(BUILD) --tries=$(SLOWEST) --limits

# libFuzzer on each target for FUZZ_SECONDS; needs clang.
FUZZ_SECONDS ?= 1200
FUZZ = -O1 -g -fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow -fno-sanitize-recover=all
fuzz:
	$(MAKE) BUILD=$(BUILD)/fuzz CC=clang CFLAGS="$(FUZZ)" \
	    $(BUILD)/fuzz/test/fuzzer $(BUILD)/fuzz/sballoc
	scripts/fuzz $(BUILD)/fuzz $(FUZZ_SECONDS)

# What analysers and valgrind find; half an hour.
analyse: all
	scripts/analyse $(BUILD)

# Which lines of src and branches of the referee the tests run.
coverage:
	mkdir -p $(BUILD)/coverage
	ln -sfn . $(BUILD)/coverage/sanitised
	$(MAKE) BUILD=$(BUILD)/coverage CFLAGS="-O0 -DNDEBUG --coverage" tests $(BUILD)/coverage/test/faults.so
	rm -rf $(BUILD)/coverage/runs
	-GCOV_PREFIX=$(abspath $(BUILD))/coverage/runs GCOV_ERROR_FILE=/dev/null scripts/test/run $(BUILD)/coverage
	scripts/coverage $(BUILD)/coverage

# Needs gcc and clang; some minutes.
same:
	scripts/same --build=$(BUILD)/same

bench: all tests
	scripts/bench $(BUILD)

lint:
	scripts/lint/run

# SBALLOC_HERE is a sballoc that runs on this machine, where what is built does not.
SBALLOC_HERE ?= $(BUILD)/sballoc
$(BUILD)/completions/sballoc: $(BUILD)/sballoc
	@mkdir -p $(@D)
	$(SBALLOC_HERE) --completion=bash > $@

$(BUILD)/completions/_sballoc: $(BUILD)/sballoc
	@mkdir -p $(@D)
	$(SBALLOC_HERE) --completion=zsh > $@

# Debian's Vim looks into /etc/vim and /usr/share/vim/vimfiles, not below /usr/local.
VIM_DIR ?= $(if $(filter /usr/local,$(PREFIX)),/etc/vim,$(PREFIX)/share/vim/vimfiles)
BASH_DIR ?= $(PREFIX)/share/bash-completion/completions
ZSH_DIR ?= $(PREFIX)/share/zsh/site-functions
MAN_DIR ?= $(PREFIX)/share/man
OWN_DIR = $(PREFIX)/share/sballoc

# What is installed: DIRECTORY:FILE, programs and other files.
PROGRAMS = $(PREFIX)/bin:$(BUILD)/sballoc $(PREFIX)/bin:scripts/sballoc-batch \
           $(PREFIX)/bin:scripts/nkigen2lf \
           $(OWN_DIR):scripts/pre-commit
FILES = $(foreach page,$(wildcard man/*.[157]),$(MAN_DIR)/man$(subst .,,$(suffix $(page))):$(page)) \
        $(VIM_DIR)/syntax:scripts/vim/syntax/lf.vim $(VIM_DIR)/ftdetect:scripts/vim/ftdetect/lf.vim \
        $(BASH_DIR):$(BUILD)/completions/sballoc $(ZSH_DIR):$(BUILD)/completions/_sballoc \
        $(BASH_DIR):scripts/completion/sballoc-batch $(ZSH_DIR):scripts/completion/_sballoc-batch \
        $(OWN_DIR):grammar/lf.schema.json

install: all
	set -e; for i in $(PROGRAMS); do install -D -t "$(DESTDIR)$${i%%:*}" "$${i#*:}"; done
	set -e; for i in $(FILES); do install -D -m 644 -t "$(DESTDIR)$${i%%:*}" "$${i#*:}"; done

uninstall:
	for i in $(PROGRAMS) $(FILES); do rm -f "$(DESTDIR)$${i%%:*}/$${i##*/}"; done
	cd "$(DESTDIR)/" && rmdir $(patsubst /%,%,$(OWN_DIR) $(VIM_DIR)/syntax $(VIM_DIR)/ftdetect) 2>/dev/null || true

installcheck: all
	scripts/test/install $(BUILD)

# The tree as committed.
DIST = sballoc-$(VERSION)
dist:
	@mkdir -p $(BUILD)
	git archive --prefix=$(DIST)/ -o $(BUILD)/$(DIST).tar.gz HEAD

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
