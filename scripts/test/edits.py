"""Random single edits of programs in .lf, and how much of an allocation outlives them."""

import json
import pathlib
import random
import re
import subprocess
import tempfile

KINDS = ("add a tensor", "delete a tensor", "resize a tensor", "insert an instruction",
         "delete an instruction")

TENSOR = re.compile(r"  tensor (%\S+)\s*: sb<([^>]*)>(.*)$")
NAME = re.compile(r"%[A-Za-z_][\w.]*")


def is_statement(line):
    return line.startswith("  ") and not re.match(r"\s+(tensor |loop |\}|#|$)", line)


def indent(line):
    return line[:len(line) - len(line.lstrip())]


def sides(line):
    """Names written and read by a statement."""
    body = re.split(r"\s(?:if|!)", line)[0]
    parts = re.split(r" \+?= ", body, maxsplit=1)
    if len(parts) == 1:
        return [], NAME.findall(body)
    reads = NAME.findall(parts[1])
    written = NAME.findall(parts[0])
    return written, reads + (written if " += " in body else [])


class Program:
    """Lines of a file of one function, in canonical form."""

    def __init__(self, text):
        self.lines = text.splitlines()
        self.tensors = {}
        for number, line in enumerate(self.lines):
            found = TENSOR.match(line)
            if found:
                self.tensors[found[1]] = number
        self.statements = [n for n, line in enumerate(self.lines) if is_statement(line)]


def add_tensor(program, dice):
    """A tensor of another's shape, made at one statement and used at a later one of its body."""
    lines = list(program.lines)
    shape = TENSOR.match(lines[dice.choice(list(program.tensors.values()))])[2]
    first = dice.choice(program.statements)
    later = []
    for number in range(first, len(lines)):
        if len(indent(lines[number])) < len(indent(lines[first])):
            break
        if is_statement(lines[number]) and indent(lines[number]) == indent(lines[first]):
            later.append(number)
    last = dice.choice(later[:60])
    space = indent(lines[first])
    lines.insert(last + 1, f"{space}use %edited")
    lines.insert(first, f"{space}%edited = make")
    place = dice.choice(list(program.tensors.values()))
    lines.insert(place, f"  tensor %edited : sb<{shape}>")
    return lines, "%edited"


def delete_tensor(program, dice):
    """The tensor, what makes it, and its places among the operands of what is left."""
    name = dice.choice(list(program.tensors))
    lines = []
    for number, line in enumerate(program.lines):
        if number == program.tensors[name]:
            continue
        if number in program.statements and name in NAME.findall(line):
            written, read = sides(line)
            if name in written or re.search(r"= (load|save|copy) ", line) or len(set(read)) == 1:
                continue
            operand = re.escape(name) + r"(?![\w.])(\[[^\]]*\])*"
            line = re.sub(r", " + operand, "", line)
            line = re.sub(operand + r", ", "", line)
        lines.append(line)
    return lines, name


def resize_tensor(program, dice):
    lines = list(program.lines)
    name = dice.choice(list(program.tensors))
    number = program.tensors[name]
    shape = TENSOR.match(lines[number])[2]
    *dims, kind = shape.split("x")
    size = int(dims[-1])
    dims[-1] = str(max(1, dice.choice([size // 2, size * 2, size - size // 4, size + size // 8])))
    lines[number] = lines[number].replace(f"<{shape}>", "<" + "x".join([*dims, kind]) + ">")
    return lines, name


def insert_instruction(program, dice):
    """A read of some tensor that was written before, as far below as happens."""
    lines = list(program.lines)
    number = dice.choice(program.statements)
    known = {name for n in program.statements if n < number for name in sides(lines[n])[0]}
    known = sorted(known & program.tensors.keys())
    if not known:
        return None
    lines.insert(number, f"{indent(lines[number])}use {dice.choice(known)}")
    return lines, None


def delete_instruction(program, dice):
    lines = list(program.lines)
    del lines[dice.choice(program.statements)]
    return lines, None


def double_instruction(program, dice):
    lines = list(program.lines)
    number = dice.choice(program.statements)
    lines.insert(number, lines[number])
    return lines, None


EDITS = dict(zip(KINDS, (add_tensor, delete_tensor, resize_tensor, insert_instruction,
                         delete_instruction)))

# An edit of one line.
LINE_KINDS = ("double an instruction", "delete an instruction")
EDITS[LINE_KINDS[0]] = double_instruction


def edit(text, kind, seed, is_good):
    """The text after one edit that `is_good` accepts, and the tensor that it is about, or None."""
    dice = random.Random(seed)
    program = Program(text)
    for _ in range(100):
        result = EDITS[kind](program, dice)
        if result and is_good("\n".join(result[0]) + "\n"):
            return "\n".join(result[0]) + "\n", result[1]
    raise ValueError(f"no {kind} is possible")


def lines_beside(before, after):
    """Lines of a result that differ beside the one that was edited; a line that was changed counts
    once. (difflib takes minutes for thousands of lines.)"""
    with tempfile.TemporaryDirectory() as directory:
        paths = [pathlib.Path(directory, name) for name in ("before", "after")]
        for path, text in zip(paths, (before, after)):
            path.write_text(text)
        output = subprocess.run(["diff", "-d", *paths], capture_output=True, text=True).stdout
    changed, removed, added = 0, 0, 0
    for line in [*output.splitlines(), "0"]:
        if line[0].isdigit():
            changed += max(removed, added)
            removed = added = 0
        removed += line[0] == "<"
        added += line[0] == ">"
    return max(0, changed - 1)


def places(placed):
    """Places of the sb tensors of a result in JSON, copies aside, by name."""
    return {tensor["name"]: tensor["placement"]
            for func in json.loads(placed)["functions"] for tensor in func["tensors"]
            if tensor["space"] == "sb" and tensor["placement"] and "of" not in tensor["metadata"]}


def share_kept(before, after, tensors):
    """Of the tensors that had a place and are still in the program: how many have the same one."""
    had = [name for name in tensors if name in before]
    return sum(after.get(name) == before[name] for name in had) / len(had) if had else 1.0
