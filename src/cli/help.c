#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/option_table.h"
#include "ir/target.h"

/* Writes `text` in lines of at most 80 columns, indented, without cutting words. */
enum { HELP_INDENT = 27, HELP_WIDTH = 80 };

static void write_wrapped(const char *text, uint32_t column, Writer *out) {
    while (*text) {
        uint32_t length = (uint32_t)strcspn(text, " ");
        if (column + 1 + length > HELP_WIDTH) {
            write_char(out, '\n');
            write_spaces(out, HELP_INDENT - 1);
            column = HELP_INDENT - 1;
        }
        write_char(out, ' ');
        write_str(out, (Str){text, length});
        column += 1 + length;
        text += length;
        text += *text == ' ';
    }
}

static void write_help_row(const OptionRow *row, Writer *out) {
    char left[64], right[256];
    char letter[] = {'-', row->letter, ',', ' ', '\0'};
    const char *open = row_is_optional(row) ? "[=" : row->argument ? "=" : "";
    snprintf(left, sizeof left, "  %s--%s%s%s%s", row->letter ? letter : "    ", row->name, open,
             row->argument ? row->argument : "", row_is_optional(row) ? "]" : "");
    snprintf(right, sizeof right, row->fallback ? "%s (default: %s)" : "%s", row->help,
             row->fallback);
    uint32_t column = (uint32_t)strlen(left);
    write_text(out, left);
    if (column < HELP_INDENT - 1) {
        write_spaces(out, HELP_INDENT - 1 - column);
        column = HELP_INDENT - 1;
    }
    write_wrapped(right, column, out);
    write_char(out, '\n');
}

void write_help(Writer *out) {
    write_text(out, "Usage: sballoc [OPTION]... [FILE]\n"
                    "       sballoc --check PLACED [ORIGINAL]\n"
                    "       sballoc --compare OLD NEW\n"
                    "Allocates the State Buffer for linearized functions.\n\n"
                    "With no FILE or -, reads standard input. Options:\n");
    for (int i = 0; i < OPTION_COUNT; i++)
        if (OPTION_ROWS[i].help) write_help_row(&OPTION_ROWS[i], out);
    write_text(out, "\nExit status: 0 if every tensor is placed, 1 if a function cannot be "
                    "allocated or\na check or comparison found something, 2 if the input or the "
                    "command line is\nwrong, 3 if reading, writing or memory failed.\n");
}

void write_targets(Writer *out) {
    uint32_t count;
    const Str *names = target_names(&count);
    write_text(out, "target   sb_bytes  sb_reserved   usable  aliases");
    const Target *before = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const Target *target = target_builtin(names[i]);
        if (target == before) {
            write_char(out, ' ');
            write_str(out, names[i]);
            continue;
        }
        before = target;
        write_format(out, "\n%-7.*s %9" PRId64 " %12" PRId64 " %8" PRId64 " ", (int)names[i].length,
                     names[i].text, target->sb_bytes, target->sb_reserved, target_usable(target));
    }
    write_char(out, '\n');
}

static bool argument_is_file(const OptionRow *row) {
    return row->argument && strcmp(row->argument, "FILE") == 0;
}

static void write_target_names(Writer *out) {
    uint32_t count;
    const Str *names = target_names(&count);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) write_char(out, ' ');
        write_str(out, names[i]);
    }
}

/* In bash, `--option=value` comes as three words. */
static void write_bash(Writer *out) {
    write_text(out, "# bash completion for sballoc; made by `sballoc --completion=bash`.\n"
                    "_sballoc() {\n"
                    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                    "    COMPREPLY=()\n"
                    "    if [[ $word == = ]]; then\n"
                    "        word=\n"
                    "    elif [[ $before == = ]]; then\n"
                    "        before=${COMP_WORDS[COMP_CWORD-2]}\n"
                    "    fi\n"
                    "    case $before in\n");
    for (int i = 0; i < OPTION_COUNT; i++) {
        const OptionRow *row = &OPTION_ROWS[i];
        if (!row->help || row->kind != STORE_CHOICE) continue;
        if (row->letter) write_format(out, "    -%c | --%s)\n", row->letter, row->name);
        if (!row->letter) write_format(out, "    --%s)\n", row->name);
        write_format(out,
                     "        COMPREPLY=($(compgen -W \"%s\" -- \"$word\"))\n"
                     "        return ;;\n",
                     row->choices);
    }
    write_text(out, "    --target)\n        COMPREPLY=($(compgen -W \"");
    write_target_names(out);
    write_text(out, "\" -- \"$word\"))\n        return ;;\n    esac\n"
                    "    if [[ $word == -* ]]; then\n"
                    "        COMPREPLY=($(compgen -W \"");
    for (int i = 0; i < OPTION_COUNT; i++) {
        const OptionRow *row = &OPTION_ROWS[i];
        if (!row->help) continue;
        if (i > 0) write_char(out, ' ');
        if (row->letter) write_format(out, "-%c ", row->letter);
        write_format(out, "--%s%s", row->name, row->argument ? "=" : "");
    }
    write_text(out, "\" -- \"$word\"))\n"
                    "        [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
                    "        return\n"
                    "    fi\n"
                    "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
                    "}\n"
                    "complete -o filenames -F _sballoc sballoc\n");
}

/* What zsh puts between the colons for the argument of an option. */
static void write_zsh_argument(const OptionRow *row, Writer *out) {
    if (!row->argument) return;
    write_format(out, "%s:%s:", row_is_optional(row) ? ":" : "", row->argument);
    if (row->kind == STORE_CHOICE) write_format(out, "(%s)", row->choices);
    if (strcmp(row->name, "target") == 0) {
        write_char(out, '(');
        write_target_names(out);
        write_char(out, ')');
    }
    if (argument_is_file(row)) write_text(out, "_files");
}

static void write_zsh(Writer *out) {
    write_text(out, "#compdef sballoc\n"
                    "# zsh completion for sballoc; made by `sballoc --completion=zsh`.\n"
                    "_arguments -s -S \\\n");
    for (int i = 0; i < OPTION_COUNT; i++) {
        const OptionRow *row = &OPTION_ROWS[i];
        if (!row->help) continue;
        if (row->letter)
            write_format(out, "  '(-%c --%s)'{-%c", row->letter, row->name, row->letter);
        if (row->letter)
            write_format(out, "%s,--%s%s}'[", row->argument ? "+" : "", row->name,
                         row->argument ? "=" : "");
        if (!row->letter)
            write_format(out, "  '%s--%s%s[", row_is_repeated(row) ? "*" : "", row->name,
                         row->argument ? "=-" : "");
        for (const char *c = row->help; *c; c++) {
            if (*c == '\'')
                write_text(out, "'\\''");
            else if (*c == '[' || *c == ']' || *c == ':')
                write_format(out, "\\%c", *c);
            else
                write_char(out, *c);
        }
        write_char(out, ']');
        write_zsh_argument(row, out);
        write_text(out, "' \\\n");
    }
    write_text(out, "  '*:file:_files'\n");
}

void write_completion(Shell shell, Writer *out) {
    if (shell == SHELL_BASH)
        write_bash(out);
    else
        write_zsh(out);
}
