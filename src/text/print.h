/* Writes the canonical text of a module or a function. */
#ifndef TEXT_PRINT_H
#define TEXT_PRINT_H

#include "ir/ir.h"
#include "support/writer.h"

/* The target in force, then the functions, canonically spaced. Reading it again gives the same
 * module, and printing that the same bytes. */
void print_func(const Func *func, Writer *out);
void print_module(const Module *module, Writer *out);

/* Parts, for messages and JSON. */
void print_condition(const Func *func, const Condition *condition, Writer *out);
/* An instruction on one line, without its end. */
void print_inst(const Func *func, const Inst *inst, Writer *out);
/* `2*i..2*i + 2`: what stands between the brackets of an operand. */
void print_blocks(const Func *func, const Blocks *blocks, Writer *out);
/* `%name` and `@name`, quoted only when they must be. */
void print_tensor_name(Str name, Writer *out);
void print_func_name(Str name, Writer *out);
/* `sb<4*128x64xf32>`. */
void print_type(const Tensor *tensor, Writer *out);

#endif
