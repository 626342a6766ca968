# sballoc: needs flex, bison, jansson, make and a C11 compiler. `make check` needs cmocka as well.
BUILD ?= build
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= cc
FLEX ?= flex
BISON ?= bison
WARN = -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wundef \
       -Wpointer-arith -Wwrite-strings -Wcast-qual -Wformat=2 -Wconversion -Wno-sign-conversion
CFLAGS ?= -O2 -g
SANITIZE = -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
ALL_CFLAGS = -std=c11 -D_POSIX_C_SOURCE=200809L -Isrc -I$(BUILD)/gen $(WARN) $(CFLAGS) -pthread
LIBS = -ljansson -lm -pthread

LAYERS = support ir text analysis place spill verify driver output
SOURCES = $(filter-out %_test.c,$(foreach layer,$(LAYERS),$(wildcard src/$(layer)/*.c src/$(layer)/*/*.c)))
GENERATED = lf.tab lf.yy
OBJECTS = $(SOURCES:src/%.c=$(BUILD)/%.o) $(GENERATED:%=$(BUILD)/gen/%.o)
CLI = $(patsubst src/%.c,$(BUILD)/%.o,$(filter-out %_test.c,$(wildcard src/cli/*.c)))
UNIT_TESTS = $(patsubst src/%.c,$(BUILD)/%,$(wildcard src/*/*_test.c src/*/*/*_test.c))
TEST_HELP = $(patsubst src/%.c,$(BUILD)/%.o,$(filter-out %_test.c %_main.c,$(wildcard src/test/*.c)))
TEST_TOOLS = $(patsubst src/test/%_main.c,$(BUILD)/test/%,$(wildcard src/test/*_main.c))

.PHONY: all check bench install clean tests sanitised
.SECONDARY:

all: $(BUILD)/sballoc

$(BUILD)/sballoc: $(CLI) $(BUILD)/libsballoc.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

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

# Unit tests: src/LAYER/NAME_test.c is a program; src/test/NAME_main.c is a tool that tests use.
$(BUILD)/%_test: $(BUILD)/%_test.o $(TEST_HELP) $(BUILD)/libsballoc.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS)

$(BUILD)/test/%: $(BUILD)/test/%_main.o $(TEST_HELP) $(BUILD)/libsballoc.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LIBS)

tests: $(BUILD)/sballoc $(UNIT_TESTS) $(TEST_TOOLS)

sanitised:
	$(MAKE) BUILD=$(BUILD)/sanitised CFLAGS="$(SANITIZE) $(EXTRA_CFLAGS)" tests

check: all sanitised
	scripts/test/run $(BUILD)

bench: all tests
	scripts/bench $(BUILD)

SHARE = $(DESTDIR)$(PREFIX)/share
install: all
	install -D -t $(DESTDIR)$(PREFIX)/bin $(BUILD)/sballoc scripts/sballoc-batch
	install -D -m 644 -t $(SHARE)/man/man1 man/sballoc.1
	install -D -m 644 -t $(SHARE)/man/man5 man/lf.5
	install -D -m 644 -t $(SHARE)/vim/vimfiles/syntax scripts/vim/syntax/lf.vim
	install -D -m 644 -t $(SHARE)/vim/vimfiles/ftdetect scripts/vim/ftdetect/lf.vim
	install -D -t $(SHARE)/sballoc scripts/pre-commit
	install -d $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions
	$(BUILD)/sballoc --completion=bash > $(SHARE)/bash-completion/completions/sballoc
	$(BUILD)/sballoc --completion=zsh > $(SHARE)/zsh/site-functions/_sballoc

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
