"""Reads functions by way of the program's own JSON, `sballoc --emit=parsed --format=json`."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys


def with_scipy():
    """True if there is scipy; else tries again with Debian's Python, if that is another one."""
    debian = "/usr/bin/python3"
    if importlib.util.find_spec("scipy"):
        return True
    if os.path.exists(debian) and sys.executable != debian:
        os.execv(debian, [debian, *sys.argv])
    return False


def find_program():
    """$SBALLOC, or the program built beside the scripts, or the one installed."""
    built = pathlib.Path(__file__).resolve().parents[1] / "build" / "sballoc"
    return os.environ.get("SBALLOC") or (str(built) if built.exists() else shutil.which("sballoc"))


def parsed(path, *options, program=None):
    """The file as JSON, checked and in canonical form. Ends with what the program says is wrong."""
    program = program or find_program()
    if not program:
        sys.exit("sballoc is not built; run make, or name it in SBALLOC")
    result = subprocess.run([program, "-q", "--emit=parsed", "--format=json", *options, path],
                            capture_output=True, text=True)
    if result.returncode:
        sys.exit(result.stderr.rstrip() or f"{program}: status {result.returncode}")
    return json.loads(result.stdout)


class Tensor:
    """space, blocks, cycles of moving one block, area of one block, and what fixes it."""

    def __init__(self, fields):
        self.name, self.space, self.blocks = (fields[key] for key in ("name", "space", "blocks"))
        self.partitions, self.bytes = fields["partitions"], fields["bytes_per_partition"]
        self.dtype = fields["dtype"]
        self.element = int(re.search(r"u8|i8|fp8|16|32|64", self.dtype)[0].strip("uifp"))  # bits
        self.input, self.output = fields["input"], fields["output"]
        self.base = fields["base"]
        self.places = []
        if self.space == "sb" and fields["placement"]:
            self.places = [(place["partition"], place["byte"]) for place in fields["placement"]]
        self.resident = self.output or fields["pin"] or fields["placement"] is not None

    def area(self, block):
        """Quadrants times granules of 8 bytes."""
        bands = 1 if self.partitions <= 32 else 2 if self.partitions <= 64 else 4
        start = self.places[block][1] if self.places else 0
        return bands * ((start + self.bytes + 7) // 8 - start // 8)

    def like(self, other):
        """True if a block of one can hold a block of the other."""
        return (self.partitions, self.bytes, self.dtype) == (other.partitions, other.bytes, other.dtype)

    def cycles(self, target):
        moved = (self.partitions + 15) // 16 * self.bytes
        return target["dma_init"] + (moved + target["dma_rate"] - 1) // target["dma_rate"]


class Side:
    """`2*i + 1` or `i + 1 mod 2`: a sum of (factor, index or None), and what it is taken modulo."""

    def __init__(self, text):
        text, _, modulus = text.partition(" mod ")
        self.modulus = int(modulus) if modulus else None
        self.terms = []
        for sign, product in re.findall(r"([+-]?)\s*([\w.$*]+)", text):
            factor, index = -1 if sign == "-" else 1, None
            for part in product.split("*"):
                if part.isdigit():
                    factor *= int(part)
                else:
                    index = part
            self.terms.append((factor, index))

    def value(self, indices):
        total = 0
        for factor, index in self.terms:
            total += factor if index is None else factor * indices[index]
        return total % self.modulus if self.modulus else total


class Operand:
    """A tensor, which blocks (from `low` to before `high`, None if it is one or all), and whether
    only a region of each."""

    def __init__(self, fields, tensors):
        self.tensor = tensors[fields["tensor"]]
        low, _, high = (fields["blocks"] or "").partition("..")
        self.low = Side(low) if low else None
        self.high = Side(high) if high else None
        whole = [0, self.tensor.partitions, 0, self.tensor.bytes]
        self.rect = tuple(fields["region"] or whole)  # partitions, bytes
        self.region = self.rect != tuple(whole)

    def blocks(self, indices):
        if self.low is None:
            return range(self.tensor.blocks)
        first = self.low.value(indices)
        end = self.high.value(indices) if self.high is not None else first + 1
        return range(max(first, 0), min(end, self.tensor.blocks))

    def count(self):
        """How many blocks: exact where both ends move alike, else all."""
        if self.low is None:
            return self.tensor.blocks
        if self.high is None:
            return 1
        ends = (self.low.terms, self.high.terms)
        if self.low.modulus or self.high.modulus or \
                len({tuple(sorted(t for t in end if t[1])) for end in ends}) > 1:
            return self.tensor.blocks
        first, last = (sum(t[0] for t in end if t[1] is None) for end in ends)
        return last - first


COMPARE = {"==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
           "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}


class Instruction:
    def __init__(self, fields, tensors):
        self.op, self.accumulate = fields["op"], fields["accumulate"]
        self.dst = [Operand(operand, tensors) for operand in fields["dst"]]
        self.src = [Operand(operand, tensors) for operand in fields["src"]]
        self.condition = None
        if fields["condition"] is not None:
            parts = [re.fullmatch(r"(.*?) ([=!<>]+) (.*)", part)
                     for part in fields["condition"].split(" && ")]
            self.condition = [(Side(part[1]), COMPARE[part[2]], Side(part[3])) for part in parts]

    def happens(self, indices):
        return self.condition is None or all(compare(left.value(indices), right.value(indices))
                                             for left, compare, right in self.condition)


class Loop:
    """The start of a loop in flat code. `end` is where its End stands, which points back at `start`."""

    def __init__(self, fields, start):
        self.name, self.low, self.high = fields["loop"], fields["from"], fields["to"]
        self.start, self.end = start, None


class End:
    def __init__(self, loop):
        self.loop = loop


class Function:
    """name, tensors by name, and the code: instructions, and a Loop and an End around bodies."""

    def __init__(self, fields):
        self.name = fields["name"]
        self.tensors = {tensor["name"]: Tensor(tensor) for tensor in fields["tensors"]}
        self.code = []
        bodies = [(iter(fields["body"]), None)]
        while bodies:
            body, loop = bodies[-1]
            item = next(body, None)
            if item is None:
                bodies.pop()
                if loop:
                    loop.end = len(self.code)
                    self.code.append(End(loop))
            elif "loop" in item:
                opened = Loop(item, len(self.code))
                self.code.append(opened)
                bodies.append((iter(item["body"]), opened))
            else:
                self.code.append(Instruction(item, self.tensors))

    def run(self):
        """The instructions that happen, in order, each with the indices; None where an iteration
        begins."""
        indices, at, code = {}, 0, self.code
        while at < len(code):
            item = code[at]
            if isinstance(item, Loop):
                indices[item.name] = item.low
                yield None, indices
            elif isinstance(item, End):
                indices[item.loop.name] += 1
                if indices[item.loop.name] < item.loop.high:
                    at = item.loop.start
                    yield None, indices
            elif item.happens(indices):
                yield item, indices
            at += 1


def read(path, *options, program=None):
    """The target's settings and the functions of a file. Options are given to the program."""
    module = parsed(path, *options, program=program)
    return module["target"], [Function(fields) for fields in module["functions"]]
