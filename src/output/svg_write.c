#include "output/svg_write.h"

/* ---- lengths ---- */

void svg_length(Writer *out, int64_t length) {
    if (length < 0) {
        write_char(out, '-');
        length = -length;
    }
    write_int(out, length / PX);
    int64_t rest = length % PX;
    if (rest == 0) return;
    write_char(out, '.');
    write_char(out, (char)('0' + rest / 10));
    if (rest % 10) write_char(out, (char)('0' + rest % 10));
}

void svg_attribute(Writer *out, const char *name, int64_t length) {
    write_char(out, ' ');
    write_text(out, name);
    write_text(out, "=\"");
    svg_length(out, length);
    write_char(out, '"');
}

void svg_box(Writer *out, int64_t x, int64_t y, int64_t width, int64_t height) {
    svg_attribute(out, "x", x);
    svg_attribute(out, "y", y);
    svg_attribute(out, "width", width);
    svg_attribute(out, "height", height);
}

void svg_line(Writer *out, const char *class, int64_t x1, int64_t y1, int64_t x2, int64_t y2) {
    write_format(out, "<line class=\"%s\"", class);
    svg_attribute(out, "x1", x1);
    svg_attribute(out, "y1", y1);
    svg_attribute(out, "x2", x2);
    svg_attribute(out, "y2", y2);
    write_text(out, "/>\n");
}

/* ---- texts ---- */

void svg_open_text(Writer *out, const char *class, int64_t x, int64_t y, Anchor anchor) {
    write_text(out, "<text");
    if (*class) write_format(out, " class=\"%s\"", class);
    svg_attribute(out, "x", x);
    svg_attribute(out, "y", y);
    if (anchor == ANCHOR_MIDDLE) write_text(out, " text-anchor=\"middle\"");
    if (anchor == ANCHOR_END) write_text(out, " text-anchor=\"end\"");
    write_char(out, '>');
}

void svg_close_text(Writer *out) {
    write_text(out, "</text>\n");
}

void svg_text(Writer *out, const char *class, int64_t x, int64_t y, Anchor anchor,
              const char *text) {
    svg_open_text(out, class, x, y, anchor);
    svg_escape(out, str_from(text));
    svg_close_text(out);
}

/* Bytes of the UTF-8 character that begins at text[at], and its code point. */
static uint32_t next_character(Str text, uint32_t at, uint32_t *code) {
    unsigned char lead = (unsigned char)text.text[at];
    uint32_t length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length > text.length - at) length = text.length - at;
    *code = length == 1 ? lead : lead & (0x7Fu >> length);
    for (uint32_t i = 1; i < length; i++)
        *code = *code << 6 | ((unsigned char)text.text[at + i] & 0x3Fu);
    return length;
}

static bool is_forbidden(uint32_t code) {
    bool control = code < 0x20 && code != '\t' && code != '\n';
    return control || code == 0xFFFE || code == 0xFFFF;
}

static const char *entity_of(uint32_t code) {
    switch (code) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    default:
        return is_forbidden(code) ? "\xEF\xBF\xBD" : NULL;
    }
}

void svg_escape(Writer *out, Str text) {
    uint32_t code, start = 0;
    for (uint32_t at = 0; at < text.length;) {
        uint32_t length = next_character(text, at, &code);
        const char *entity = entity_of(code);
        if (entity) {
            write_str(out, (Str){text.text + start, at - start});
            write_text(out, entity);
            start = at + length;
        }
        at += length;
    }
    write_str(out, (Str){text.text + start, text.length - start});
}

static uint32_t columns_of(uint32_t code) {
    return code >= 0x1100 ? 2 : 1;
}

uint32_t svg_columns(Str text) {
    uint32_t code, columns = 0;
    for (uint32_t at = 0; at < text.length;) {
        at += next_character(text, at, &code);
        columns += columns_of(code);
    }
    return columns;
}

void svg_clip(Writer *out, Str text, uint32_t columns) {
    if (svg_columns(text) <= columns) {
        svg_escape(out, text);
        return;
    }
    uint32_t code, at = 0, used = 1;
    while (at < text.length) {
        uint32_t length = next_character(text, at, &code);
        if (used + columns_of(code) > columns) break;
        used += columns_of(code);
        at += length;
    }
    svg_escape(out, (Str){text.text, at});
    write_text(out, "\xE2\x80\xA6");
}

void svg_title(Writer *out, Str text) {
    write_text(out, "<title>");
    svg_escape(out, text);
    write_text(out, "</title>");
}

void svg_clip_titled(Writer *out, Str text, uint32_t columns) {
    svg_clip(out, text, columns);
    if (svg_columns(text) > columns) svg_title(out, text);
}

/* ---- numbers ---- */

void svg_number(Writer *out, int64_t number) {
    enum { MOST_GROUPS = 7 };
    uint32_t groups[MOST_GROUPS], count = 0;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        groups[count++] = (uint32_t)(rest % 1000);
        rest /= 1000;
    } while (rest > 0);
    if (number < 0) write_char(out, '-');
    write_int(out, groups[--count]);
    while (count > 0)
        write_format(out, ",%03u", groups[--count]);
}

void svg_count(Writer *out, int64_t number, const char *noun) {
    svg_number(out, number);
    write_char(out, ' ');
    write_text(out, noun);
    if (number != 1) write_char(out, 's');
}

void svg_bytes(Writer *out, int64_t bytes, int64_t step) {
    static const char *const UNITS[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;
    for (; unit < 3 && step >= 1024; step /= 1024) {
        bytes /= 1024;
        unit++;
    }
    svg_number(out, bytes);
    write_char(out, ' ');
    write_text(out, UNITS[unit]);
}
