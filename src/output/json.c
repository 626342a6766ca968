#include "output/json.h"

#include <math.h>

#include "output/json_write.h"
#include "output/stats.h"
#include "text/json_read.h"
#include "text/print.h"

bool json_can_write(const Func *func, uint32_t *loop) {
    for (uint32_t i = 0; i < func->nloops; i++) {
        if (func->loops[i].depth < DEEPEST_JSON_NEST) continue;
        *loop = i;
        return false;
    }
    return true;
}

static void write_target(JsonOut *json, const Target *target) {
    json_key(json, "target");
    json_open(json, '{');
    json_key(json, "name");
    json_str(json, target->name);
    json_key(json, "sb_bytes");
    json_int(json, target->sb_bytes);
    json_key(json, "sb_reserved");
    json_int(json, target->sb_reserved);
    json_key(json, "sb_init");
    json_int(json, target->sb_init);
    json_key(json, "dma_init");
    json_int(json, target->dma_init);
    json_key(json, "dma_rate");
    json_int(json, target->dma_rate);
    json_close(json, '}');
}

static void write_metadata(JsonOut *json, MetaList meta) {
    json_key(json, "metadata");
    json_open(json, '{');
    for (uint32_t i = 0; i < meta.count; i++) {
        const Meta *item = &meta.items[i];
        json_str_key(json, item->key);
        switch (item->kind) {
        case META_FLAG:
            json_bool(json, true);
            break;
        case META_NUMBER:
            json_int(json, item->number);
            break;
        case META_TEXT:
            json_str(json, item->text);
            break;
        }
    }
    json_close(json, '}');
}

void json_placement(JsonOut *json, const Tensor *tensor) {
    json_key(json, "placement");
    if (tensor->space == SPACE_DRAM && tensor->offset >= 0) {
        json_open(json, '{');
        json_key(json, "offset");
        json_int(json, tensor->offset);
        json_close(json, '}');
        return;
    }
    if (!tensor->at) {
        json_null(json);
        return;
    }
    json_open(json, '[');
    for (int64_t block = 0; block < tensor->blocks; block++) {
        json_open(json, '{');
        json_key(json, "partition");
        json_int(json, tensor->at[block].partition);
        json_key(json, "byte");
        json_int(json, tensor->at[block].byte);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void write_live(JsonOut *json, LiveRange range) {
    json_key(json, "live");
    json_open(json, '[');
    for (uint32_t i = 0; i < range.count; i++) {
        json_open(json, '[');
        json_int(json, range.items[i].first);
        json_int(json, range.items[i].last);
        json_close(json, ']');
    }
    json_close(json, ']');
}

void json_shape(JsonOut *json, const Tensor *tensor) {
    json_key(json, "shape");
    json_open(json, '[');
    for (uint32_t i = 0; i < tensor->rank; i++)
        json_int(json, tensor->shape[i]);
    json_close(json, ']');
}

static void write_flag(JsonOut *json, const char *key, bool value) {
    json_key(json, key);
    json_bool(json, value);
}

static void write_tensor(JsonOut *json, const JsonFunc *item, uint32_t id) {
    const Tensor *tensor = &item->func->tensors[id];
    json_open(json, '{');
    json_key(json, "name");
    json_str(json, tensor->name);
    json_key(json, "space");
    json_str(json, space_name(tensor->space));
    json_shape(json, tensor);
    json_key(json, "dtype");
    json_str(json, dtype_name(tensor->dtype));
    json_key(json, "blocks");
    json_int(json, tensor->blocks);
    json_key(json, "partitions");
    json_int(json, tensor->partitions);
    json_key(json, "bytes_per_partition");
    json_int(json, tensor->bytes);
    write_flag(json, "input", tensor->input);
    write_flag(json, "output", tensor->output);
    write_flag(json, "pin", tensor->pin);
    json_key(json, "base");
    if (tensor->base < 0)
        json_null(json);
    else
        json_int(json, tensor->base);
    json_key(json, "align");
    json_int(json, tensor->align);
    json_placement(json, tensor);
    write_live(json, item->live->whole[id]);
    json_key(json, "cost");
    json_real(json, item->cost && tensor->space == SPACE_SB ? item->cost[id] : INFINITY);
    write_metadata(json, tensor->meta);
    json_close(json, '}');
}

/* A part of the text format as a JSON string. Its own characters need no escape. */
static void write_operand(JsonOut *json, const Func *func, const Operand *operand) {
    json_open(json, '{');
    json_key(json, "tensor");
    json_str(json, func->tensors[operand->tensor].name);
    json_key(json, "blocks");
    if (operand->blocks && operand->blocks->kind != BLOCKS_ALL) {
        write_char(json->out, '"');
        print_blocks(func, operand->blocks, json->out);
        write_char(json->out, '"');
        json->after_key = false;
    } else {
        json_null(json);
    }
    json_key(json, "region");
    if (operand->region) {
        json_open(json, '[');
        json_int(json, operand->region->p0);
        json_int(json, operand->region->p1);
        json_int(json, operand->region->b0);
        json_int(json, operand->region->b1);
        json_close(json, ']');
    } else {
        json_null(json);
    }
    json_close(json, '}');
}

static void write_operands(JsonOut *json, const char *key, const Func *func,
                           const Operand *operands, uint32_t count) {
    json_key(json, key);
    json_open(json, '[');
    for (uint32_t i = 0; i < count; i++)
        write_operand(json, func, &operands[i]);
    json_close(json, ']');
}

static void write_inst(JsonOut *json, const Func *func, uint32_t point) {
    const Inst *inst = &func->insts[point];
    json_open(json, '{');
    json_key(json, "op");
    json_str(json, inst->op);
    write_flag(json, "accumulate", inst->accumulate);
    write_operands(json, "dst", func, inst_dst(inst), inst->ndst);
    write_operands(json, "src", func, inst_src(inst), inst->nsrc);
    json_key(json, "condition");
    if (inst->condition) {
        write_char(json->out, '"');
        print_condition(func, inst->condition, json->out);
        write_char(json->out, '"');
        json->after_key = false;
    } else {
        json_null(json);
    }
    write_metadata(json, inst->meta);
    json_key(json, "point");
    json_int(json, point);
    json_close(json, '}');
}

static void open_loop(JsonOut *json, const Loop *loop) {
    json_open(json, '{');
    json_key(json, "loop");
    json_str(json, loop->name);
    json_key(json, "from");
    json_int(json, loop->low);
    json_key(json, "to");
    json_int(json, loop->high);
    json_key(json, "body");
    json_open(json, '[');
}

static void write_body(JsonOut *json, const Func *func) {
    json_key(json, "body");
    json_open(json, '[');
    for (Walk walk = walk_begin(func); walk_next(&walk);) {
        switch (walk.event) {
        case WALK_INST:
            write_inst(json, func, walk.inst);
            break;
        case WALK_OPEN:
            open_loop(json, &func->loops[walk.loop]);
            break;
        case WALK_CLOSE:
            json_close(json, ']');
            json_close(json, '}');
            break;
        }
    }
    json_close(json, ']');
}

static void write_function(JsonOut *json, const JsonFunc *item) {
    json_open(json, '{');
    json_key(json, "name");
    json_str(json, item->func->name);
    write_metadata(json, item->func->meta);
    json_key(json, "tensors");
    json_open(json, '[');
    for (uint32_t id = 0; id < item->func->ntensors; id++)
        write_tensor(json, item, id);
    json_close(json, ']');
    write_body(json, item->func);
    json_key(json, "report");
    if (item->report) {
        json_open(json, '{');
        json_report(json, item->func->name, item->report, false);
        json_close(json, '}');
    } else {
        json_null(json);
    }
    json_close(json, '}');
}

void write_json(const Target *target, const JsonFunc *funcs, uint32_t count, Writer *out) {
    JsonOut json;
    json_begin(&json, out, false);
    json_open(&json, '{');
    json_key(&json, "format");
    json_text(&json, "sballoc");
    json_key(&json, "version");
    json_int(&json, 1);
    write_target(&json, target);
    json_key(&json, "functions");
    json_open(&json, '[');
    for (uint32_t i = 0; i < count; i++)
        write_function(&json, &funcs[i]);
    json_close(&json, ']');
    json_close(&json, '}');
    write_char(out, '\n');
}
