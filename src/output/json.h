/* Writes functions as JSON: the format of grammar/lf.schema.json. */
#ifndef OUTPUT_JSON_H
#define OUTPUT_JSON_H

#include "analysis/live.h"
#include "driver/allocate.h"
#include "output/json_write.h"

typedef struct {
    const Func *func;
    const Live *live;
    const double *cost;   /* [ntensors]; INFINITY or NULL: written as null */
    const Report *report; /* NULL where nothing was allocated: written as null */
    const Func *input;    /* what it was made from, or NULL: for pictures alone, as what follows */
    const Live *input_live;
    const uint32_t *origin_inst; /* [ninsts] instruction of input, or INSERTED */
} JsonFunc;

/* True if loops nest no deeper than readers of JSON bear, else *loop is the first that does. */
bool json_can_write(const Func *func, uint32_t *loop);

/* Requires json_can_write() of each. Writes as it goes: memory O(1). */
void write_json(const Target *target, const JsonFunc *funcs, uint32_t count, Writer *out);

/* The members `shape` and `placement` of a tensor, into an object that is open. */
void json_shape(JsonOut *json, const Tensor *tensor);
void json_placement(JsonOut *json, const Tensor *tensor);

#endif
