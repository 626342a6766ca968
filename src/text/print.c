/* The canonical text. Its one source is "What sballoc writes" of the format. */
#include "text/print.h"

#include "ir/ir.h"
#include "text/word.h"

static void write_quoted(Writer *out, Str text) {
    write_char(out, '"');
    for (uint32_t i = 0; i < text.length; i++) {
        if (text.text[i] == '"' || text.text[i] == '\\') write_char(out, '\\');
        write_char(out, text.text[i]);
    }
    write_char(out, '"');
}

static void write_name(Writer *out, char sigil, Str name) {
    write_char(out, sigil);
    if (is_label(name))
        write_str(out, name);
    else
        write_quoted(out, name);
}

void print_tensor_name(Str name, Writer *out) {
    write_name(out, '%', name);
}

void print_func_name(Str name, Writer *out) {
    write_name(out, '@', name);
}

static void write_setting(Writer *out, const char *key, int64_t value) {
    write_text(out, "  ");
    write_text(out, key);
    write_text(out, " = ");
    write_int(out, value);
    write_char(out, '\n');
}

static void print_target(const Target *target, Writer *out) {
    write_text(out, "target ");
    write_str(out, target->name);
    if (!target_is_builtin(target)) {
        write_text(out, " {\n");
        write_setting(out, "sb_bytes", target->sb_bytes);
        write_setting(out, "sb_reserved", target->sb_reserved);
        write_setting(out, "sb_init", target->sb_init);
        write_setting(out, "dma_init", target->dma_init);
        write_setting(out, "dma_rate", target->dma_rate);
        write_char(out, '}');
    }
    write_char(out, '\n');
}

static void write_metas(Writer *out, MetaList meta) {
    for (uint32_t i = 0; i < meta.count; i++) {
        const Meta *item = &meta.items[i];
        write_text(out, " !");
        write_str(out, item->key);
        if (item->kind == META_FLAG) continue;
        write_char(out, '=');
        if (item->kind == META_NUMBER)
            write_int(out, item->number);
        else if (is_word(item->text))
            write_str(out, item->text);
        else
            write_quoted(out, item->text);
    }
}

static void write_term(Writer *out, const Func *func, Term term) {
    uint64_t size =
        term.coefficient < 0 ? 0 - (uint64_t)term.coefficient : (uint64_t)term.coefficient;
    if (term.loop == NO_LOOP || size != 1) write_int(out, (int64_t)size);
    if (term.loop == NO_LOOP) return;
    if (size != 1) write_char(out, '*');
    write_str(out, func->loops[term.loop].name);
}

static void print_affine(const Func *func, Affine affine, Writer *out) {
    for (uint32_t i = 0; i < affine.count; i++) {
        bool negative = affine.terms[i].coefficient < 0;
        if (i > 0)
            write_text(out, negative ? " - " : " + ");
        else if (negative)
            write_char(out, '-');
        write_term(out, func, affine.terms[i]);
    }
    if (affine.modulus == 0) return;
    write_text(out, " mod ");
    write_int(out, affine.modulus);
}

void print_condition(const Func *func, const Condition *condition, Writer *out) {
    for (uint32_t i = 0; i < condition->count; i++) {
        const Compare *compare = &condition->compares[i];
        if (i > 0) write_text(out, " && ");
        print_affine(func, compare->left, out);
        write_char(out, ' ');
        write_str(out, comparison_name(compare->comparison));
        write_char(out, ' ');
        print_affine(func, compare->right, out);
    }
}

void print_blocks(const Func *func, const Blocks *blocks, Writer *out) {
    if (blocks->kind == BLOCKS_ALL) return;
    print_affine(func, blocks->low, out);
    if (blocks->kind != BLOCKS_RANGE) return;
    write_text(out, "..");
    print_affine(func, blocks->high, out);
}

static void write_range(Writer *out, int64_t low, int64_t high) {
    write_int(out, low);
    write_text(out, "..");
    write_int(out, high);
}

static void write_operand(Writer *out, const Func *func, const Operand *operand) {
    write_name(out, '%', func->tensors[operand->tensor].name);
    if (operand->blocks && operand->blocks->kind != BLOCKS_ALL) {
        write_char(out, '[');
        print_blocks(func, operand->blocks, out);
        write_char(out, ']');
    }
    if (operand->region) {
        write_char(out, '(');
        write_range(out, operand->region->p0, operand->region->p1);
        write_text(out, ", ");
        write_range(out, operand->region->b0, operand->region->b1);
        write_char(out, ')');
    }
}

static void write_operands(Writer *out, const Func *func, const Operand *operands, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) write_text(out, ", ");
        write_operand(out, func, &operands[i]);
    }
}

void print_inst(const Func *func, const Inst *inst, Writer *out) {
    write_operands(out, func, inst_dst(inst), inst->ndst);
    if (inst->ndst > 0) write_text(out, inst->accumulate ? " += " : " = ");
    write_str(out, inst->op);
    if (inst->nsrc > 0) write_char(out, ' ');
    write_operands(out, func, inst_src(inst), inst->nsrc);
    if (inst->condition) {
        write_text(out, " if ");
        print_condition(func, inst->condition, out);
    }
    write_metas(out, inst->meta);
}

static void write_shape(Writer *out, const Tensor *tensor) {
    if (tensor->blocks != 1) {
        write_int(out, tensor->blocks);
        write_char(out, '*');
    }
    for (uint32_t i = 0; i < tensor->rank; i++) {
        write_int(out, tensor->shape[i]);
        write_char(out, 'x');
    }
    write_str(out, dtype_name(tensor->dtype));
}

static void write_places(Writer *out, const Tensor *tensor) {
    write_text(out, " at ");
    for (int64_t i = 0; i < tensor->blocks; i++) {
        if (i > 0) write_text(out, ", ");
        write_int(out, tensor->at[i].partition);
        write_char(out, ':');
        write_int(out, tensor->at[i].byte);
    }
}

static void write_number_attribute(Writer *out, const char *name, int64_t value) {
    write_text(out, name);
    write_int(out, value);
}

static void write_attributes(Writer *out, const Tensor *tensor) {
    if (tensor->input) write_text(out, " input");
    if (tensor->output) write_text(out, " output");
    if (tensor->pin) write_text(out, " pin");
    if (tensor->base >= 0) write_number_attribute(out, " base ", tensor->base);
    if (tensor->align != GRANULE) write_number_attribute(out, " align ", tensor->align);
    if (tensor->at) write_places(out, tensor);
    if (tensor->space == SPACE_DRAM && tensor->offset >= 0)
        write_number_attribute(out, " at ", tensor->offset);
}

void print_type(const Tensor *tensor, Writer *out) {
    write_str(out, space_name(tensor->space));
    write_char(out, '<');
    write_shape(out, tensor);
    write_char(out, '>');
}

static void write_tensor(Writer *out, const Tensor *tensor) {
    write_text(out, "  tensor ");
    write_name(out, '%', tensor->name);
    write_text(out, " : ");
    print_type(tensor, out);
    write_attributes(out, tensor);
    write_metas(out, tensor->meta);
    write_char(out, '\n');
}

static void write_loop(Writer *out, const Loop *loop) {
    write_text(out, "loop ");
    write_str(out, loop->name);
    write_text(out, " = ");
    write_range(out, loop->low, loop->high);
    write_text(out, " {\n");
}

static void write_body(Writer *out, const Func *func) {
    uint32_t depth = 1;
    for (Walk walk = walk_begin(func); walk_next(&walk);) {
        if (walk.event == WALK_CLOSE) depth--;
        write_spaces(out, 2 * depth);
        switch (walk.event) {
        case WALK_INST:
            print_inst(func, &func->insts[walk.inst], out);
            write_char(out, '\n');
            break;
        case WALK_OPEN:
            write_loop(out, &func->loops[walk.loop]);
            depth++;
            break;
        case WALK_CLOSE:
            write_text(out, "}\n");
            break;
        }
    }
}

void print_func(const Func *func, Writer *out) {
    write_text(out, "func ");
    write_name(out, '@', func->name);
    write_metas(out, func->meta);
    write_text(out, " {\n");
    for (uint32_t i = 0; i < func->ntensors; i++)
        write_tensor(out, &func->tensors[i]);
    if (func->ntensors > 0 && (func->ninsts > 0 || func->nloops > 0)) write_char(out, '\n');
    write_body(out, func);
    write_text(out, "}\n");
}

void print_module(const Module *module, Writer *out) {
    print_target(&module->target, out);
    for (uint32_t i = 0; i < module->nfuncs; i++) {
        write_char(out, '\n');
        print_func(&module->funcs[i], out);
    }
}
