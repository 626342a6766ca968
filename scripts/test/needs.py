"""What functions in JSON need of the State Buffer at once, counted from their text alone: they are
run, instruction by instruction."""

import sys

from tap import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import lf  # noqa: E402


def quadrants(first, partitions):
    """The first and the last quadrant that so many partitions from `first` on take."""
    low = first // 32
    return low, low + (1 if partitions <= 32 else 2 if partitions <= 64 else 4) - 1


def instructions(body):
    for item in body:
        if "loop" in item:
            yield from instructions(item["body"])
        else:
            yield item


class Load:
    """What some blocks need in the fullest quadrant. Those that have places take them, what lies at
    one place once; of the others no less than the even share of all, what is bound to a quadrant or
    a half, and the tallest beside those of full height."""

    def __init__(self):
        self.places, self.own, self.halves, self.total = set(), [0] * 4, [0] * 2, 0
        self.full = self.tallest = 0

    def add(self, tensor, block):
        partitions, size = tensor["partitions"], tensor["bytes_per_partition"]
        bound = tensor["base"] is not None or partitions > 64 or tensor["placement"]
        place = tensor["placement"][block] if tensor["placement"] else None
        first = place["partition"] if place else tensor["base"] or 0
        begin = place["byte"] if place else 0
        low, high = quadrants(first, partitions)
        rectangle = (low, high, begin // 8, (begin + size + 7) // 8)
        if place and rectangle in self.places:
            return
        if place:
            self.places.add(rectangle)
        granules = rectangle[3] - rectangle[2]
        self.total += granules * (high - low + 1)
        if bound:
            for quadrant in range(low, high + 1):
                self.own[quadrant] += granules
                self.halves[quadrant // 2] += granules
        if partitions > 64:
            self.full += granules
        else:
            self.tallest = max(self.tallest, granules)

    def need(self):
        return max(-(-self.total // 4), *self.own, *(-(-half // 2) for half in self.halves),
                   self.full + self.tallest)


def sb_tensors(function):
    return {tensor["name"]: tensor for tensor in function["tensors"] if tensor["space"] == "sb"}


def granules_needed(function):
    """At each point of straight code."""
    loads = [Load() for _ in instructions(function["body"])]
    for tensor in sb_tensors(function).values():
        for block in range(tensor["blocks"]):
            for start, last in tensor["live"]:
                for point in range(start, last + 1):
                    loads[point].add(tensor, block)
    return [load.need() for load in loads]


def steps_of(function):
    """The function is run: (point, indices, blocks that live) of each instruction that happens."""
    code, tensors = lf.Function(function), sb_tensors(function)
    numbers = {id(item): i for i, item in enumerate(
        item for item in code.code if isinstance(item, lf.Instruction))}
    steps = []
    latest = {(name, block): 0 for name, tensor in tensors.items() if tensor["input"]
              for block in range(tensor["blocks"])}
    for item, indices in code.run():
        if item is None:
            continue
        now = len(steps)
        steps.append((numbers[id(item)], dict(indices), set() if now else set(latest)))
        named = {}
        for operand in item.dst + item.src:
            if operand.tensor.space != "sb":
                continue
            needs = operand in item.src or item.accumulate or operand.region
            for block in operand.blocks(indices):
                key = operand.tensor.name, block
                named[key] = named.get(key, False) or needs
        for key, needs in named.items():
            for step in range(latest.get(key, now), now) if needs else ():
                steps[step][2].add(key)
            steps[now][2].add(key)
            latest[key] = now
    for key, step in latest.items():
        for later in range(step, len(steps)) if tensors[key[0]]["output"] else ():
            steps[later][2].add(key)
    return steps


def granules_of(function, keys):
    load, tensors = Load(), sb_tensors(function)
    for name, block in keys:
        load.add(tensors[name], block)
    return load.need()


def granules_in_time(function):
    """At each instruction, in the iteration that needs most."""
    needs = [0] * sum(1 for _ in instructions(function["body"]))
    for point, _, keys in steps_of(function):
        needs[point] = max(needs[point], granules_of(function, keys))
    return needs


def needs_of(function):
    loops = any("loop" in item for item in function["body"])
    return (granules_in_time if loops else granules_needed)(function)
