"""What a function needs on chip as it runs, and what not keeping it there costs: the model of
sballoc's bound (THE BOUND in sballoc(7)), written anew.

Points are the instructions that run, in order, from 1; point 0 has the values of sb inputs. Blocks
are cut into atoms, such that each operand names whole ones. Costs are in parts of a cycle."""
import math

PART = 1 << 16     # parts of a cycle
MOST_ATOMS = 64    # of a block: a tensor with more is left out
MANY_BLOCKS = 64   # that an unequal load reads: it counts as one that can be repeated


def dma(target, partitions, size):
    return target["dma_init"] + -(-(-(-partitions // 16) * size) // target["dma_rate"])


def share(cycles, area, whole):
    return (cycles * area * PART) // whole


def bands(tensor):
    """The sets of quadrants that it may take, as masks."""
    if tensor.partitions > 64:
        return [15]
    masks = [1, 2, 4, 8] if tensor.partitions <= 32 else [3, 12]
    return masks if tensor.base is None else [mask for mask in masks if mask >> tensor.base // 32 & 1]


class Atom:
    """Part of each block: its area in bytes, its height in granules, masks of the lanes it takes."""

    def __init__(self, tensor, rect, lanes):
        p0, p1, b0, b1 = rect
        self.area = (p1 - p0) * (b1 - b0)
        self.height, self.masks = -(-b1 // 8) - -(-b0 // 8), bands(tensor)
        if (p0, p1) != (0, tensor.partitions):
            self.masks = [1, 2, 4, 8]
            if -(-p1 // 32) == -(-p0 // 32):
                self.height = 0
        if lanes == 1:
            self.height, self.masks = self.height * bin(self.masks[0]).count("1"), [1]


class Value:
    """What an atom contains from a write on."""

    def __init__(self, point, store, credit=0, droppable=False):
        self.last, self.store, self.credit, self.droppable = point, store, credit, droppable
        self.read = self.clean = self.entry = self.vague = False
        self.holders = []  # where DRAM has it: tensor, blocks, since when, whether only part of them


class Gap:
    """Keeping `value` from `first` to `last` takes `height` in the lanes of one of `masks`; not
    keeping it costs `load` (None: it must stay), and a store unless it is `clean`."""
    __slots__ = ("first", "last", "value", "height", "masks", "load", "clean")

    def __init__(self, *fields):
        for name, field in zip(self.__slots__, fields):
            setattr(self, name, field)


class Demand:
    """gaps; taken[lane][point]: granules of operands that have no choice of bands; `operands` that
    have, as gaps of one point; `saved`: loads that nothing needs."""

    def __init__(self, function, target):
        self.function, self.target = function, target
        tensors = [t for t in function.tensors.values() if t.space == "sb"]
        told = any(t.partitions <= 64 and (t.base is not None or t.places) for t in tensors)
        self.lanes = 4 if told else 1
        self.size = (target["sb_bytes"] - target["sb_reserved"]) // 8 * (1 if told else 4)
        self.gaps, self.operands, self.saved = [], [], 0
        self.taken = [[0] for _ in range(self.lanes)]
        self.values, self.contents, self.written, self.rewritten = [], {}, {}, {}
        self.cut(tensors)
        self.trace(tensors)

    # ---- atoms ----

    def cut(self, tensors):
        """Cuts tensors where operands begin and end, those that copies join alike."""
        group = {t.name: t.name for t in tensors}
        cuts = {t.name: ({0, t.partitions}, {0, t.bytes}) for t in tensors}
        code = [i for i in self.function.code if hasattr(i, "op")]
        for inst in code:
            if inst.op == "copy":
                one, other = inst.dst[0].tensor, inst.src[0].tensor
                if (one.partitions, one.bytes) == (other.partitions, other.bytes):
                    old, new = group[one.name], group[other.name]
                    group = {name: new if leader == old else leader for name, leader in group.items()}
        for inst in code:
            for operand in inst.dst + inst.src:
                if operand.tensor.space == "sb":
                    rows, columns = cuts[group[operand.tensor.name]]
                    rows.update(operand.rect[:2])
                    columns.update(operand.rect[2:])
        self.group, self.atoms = group, {}
        for tensor in tensors:
            rows, columns = (sorted(c) for c in cuts[group[tensor.name]])
            if (len(rows) - 1) * (len(columns) - 1) > MOST_ATOMS:
                self.atoms[tensor.name] = {}
                continue
            self.atoms[tensor.name] = {
                (p0, p1, b0, b1): Atom(tensor, (p0, p1, b0, b1), self.lanes)
                for p0, p1 in zip(rows, rows[1:]) for b0, b1 in zip(columns, columns[1:])}

    def named(self, operand, indices):
        """(block, rectangle, atom) of all that an operand names."""
        p0, p1, b0, b1 = operand.rect
        inside = [(rect, atom) for rect, atom in self.atoms[operand.tensor.name].items()
                  if rect[0] >= p0 and rect[1] <= p1 and rect[2] >= b0 and rect[3] <= b1]
        return [(block, rect, atom) for block in operand.blocks(indices) for rect, atom in inside]

    def shape(self, tensor, block, atom):
        if not tensor.places or len(self.atoms[tensor.name]) > 1:
            return atom.height, atom.masks
        partition, byte = tensor.places[block]
        size = self.size if self.lanes == 4 else self.size // 4
        height = min(size, -(-(byte + tensor.bytes) // 8)) - byte // 8
        quadrants = 1 if tensor.partitions <= 32 else 2 if tensor.partitions <= 64 else 4
        if self.lanes == 1:
            return height * quadrants, [1]
        return height, [((1 << quadrants) - 1) << partition // 32]

    def take(self, shape, point):
        height, masks = shape
        if len(masks) > 1 and height:
            self.operands.append(Gap(point, point, None, height, masks, None, False))
        elif height:
            for lane in range(self.lanes):
                self.taken[lane][point] += height * (masks[0] >> lane & 1)

    # ---- what an instruction does ----

    def cycles(self, operand):
        p0, p1, b0, b1 = operand.rect
        return dma(self.target, p1 - p0, b1 - b0), (p1 - p0) * (b1 - b0)

    def block_share(self, tensor, atom):
        """An atom's part of a DMA of a whole block: no DMA brings it for less."""
        return share(tensor.cycles(self.target), atom.area, tensor.partitions * tensor.bytes)

    def new_value(self, tensor, atom, **fields):
        self.values.append(Value(self.point, self.block_share(tensor, atom), **fields))
        return self.values[-1]

    def read(self, operand, block, atom, value):
        if value.last == self.point:
            return
        first = value.droppable and not value.read
        load = None
        if not operand.tensor.resident:
            load = self.block_share(operand.tensor, atom) - (value.credit if first else 0)
        height, masks = self.shape(operand.tensor, block, atom)
        if value.entry and not value.read:
            self.take((height, masks), 0)
        if not value.vague:
            self.gaps.append(Gap(value.last + (not first), self.point - 1, value, height, masks, load,
                                 value.clean))
        value.read, value.last = True, self.point
        self.touched.append(value)

    def read_operand(self, operand, indices):
        if operand.tensor.space != "sb":
            return
        for block, rect, atom in self.named(operand, indices):
            place = operand.tensor.name, block, rect
            value = self.contents.get(place)
            seen = place in self.seen or value and (value.vague or value.read and
                                                    value.last == self.point)
            self.seen.add(place)
            if not seen:
                self.take(self.shape(operand.tensor, block, atom), self.point)
            if value:
                self.read(operand, block, atom, value)

    def write(self, inst, operand, indices):
        tensor, load = operand.tensor, inst.op == "load"
        droppable = load and not inst.accumulate and not tensor.resident
        cycles, whole = self.cycles(operand)
        for block, rect, atom in self.named(operand, indices):
            place = tensor.name, block, rect
            if place not in self.seen and not droppable:
                self.take(self.shape(tensor, block, atom), self.point)
            self.seen.add(place)
            credit = 0
            if load:  # rounded up
                credit = share(cycles, atom.area, whole) + (cycles * atom.area % whole != 0)
            value = self.new_value(tensor, atom, credit=credit, droppable=droppable)
            self.contents[place] = value
            if load:
                self.touched.append(value)
        if load and not self.atoms[tensor.name]:
            self.saved += cycles * PART * len(operand.blocks(indices))

    def copy(self, inst, indices):
        """Both ends have one value."""
        to, source = inst.dst[0], inst.src[0]
        targets, sources = self.named(to, indices), self.named(source, indices)
        alike = self.group[to.tensor.name] == self.group[source.tensor.name] and \
            to.rect == source.rect and len(targets) == len(sources)
        for i, (block, rect, atom) in enumerate(targets):
            place = to.tensor.name, block, rect
            if alike:
                from_block, from_rect, _ = sources[i]
                value = self.contents.get((source.tensor.name, from_block, from_rect))
                self.seen.add(place)
            else:
                value = self.new_value(to.tensor, atom)
                value.store, value.vague = 0, True
            self.contents[place] = value

    def write_dram(self, operand, indices):
        for block in operand.blocks(indices):
            self.written[operand.tensor.name, block] = self.point
            if not operand.region:
                self.rewritten[operand.tensor.name, block] = self.point

    def there(self, holder):
        name, blocks, since, part = holder
        written = self.rewritten if part else self.written
        return all(written.get((name, block), 0) <= since for block in blocks)

    def move(self, inst, indices):
        """DRAM has what a load brought or a save took."""
        sb, dram = (inst.dst[0], inst.src[0]) if inst.op == "load" else (inst.src[0], inst.dst[0])
        here, there = sb.blocks(indices), dram.blocks(indices)
        one, other = sb.tensor, dram.tensor
        like = (one.partitions, one.bytes, len(here)) == (other.partitions, other.bytes, len(there)) \
            and sb.rect == dram.rect and one.element == other.element
        if not like and inst.op == "save":
            return
        for block, rect, _ in self.named(sb, indices):
            value = self.contents.get((one.name, block, rect))
            blocks = there if len(there) <= MANY_BLOCKS else range(0)
            if like:
                blocks = [block - here[0] + there[0]]
            if value:
                value.holders.append((other.name, blocks, self.point, dram.region))

    def step(self, inst, indices):
        self.point += 1
        self.touched, self.seen = [], set()
        for taken in self.taken:
            taken.append(0)
        for operand in inst.src + (inst.dst if inst.accumulate else []):
            self.read_operand(operand, indices)
        for operand in inst.dst:
            if operand.tensor.space == "dram":
                self.write_dram(operand, indices)
            elif operand.tensor.space == "sb" and inst.op == "copy" and not inst.accumulate:
                self.copy(inst, indices)
            elif operand.tensor.space == "sb":
                self.write(inst, operand, indices)
        if inst.op in ("load", "save") and not inst.accumulate:
            self.move(inst, indices)
        for value in self.touched:
            value.holders = [holder for holder in value.holders if self.there(holder)]
            value.clean = bool(value.holders)

    def trace(self, tensors):
        self.point = 0
        for tensor in tensors:
            for rect, atom in self.atoms[tensor.name].items() if tensor.input else ():
                for block in range(tensor.blocks):
                    value = self.new_value(tensor, atom)
                    value.entry = True
                    self.contents[tensor.name, block, rect] = value
        for inst, indices in self.function.run():
            if inst is not None:
                self.step(inst, indices)
        self.points = self.point + 1
        self.point += 1
        self.touched = []
        for tensor in tensors:
            for rect, atom in self.atoms[tensor.name].items() if tensor.output else ():
                for block in range(tensor.blocks):
                    value = self.contents.get((tensor.name, block, rect))
                    if value:
                        self.read(End(tensor, rect), block, atom, value)
        self.saved += sum(value.credit for value in self.values if not value.read)
        self.compete()

    # ---- what is left of it ----

    def compete(self):
        """Takes room for what must stay and cuts what costs nothing; `items` are the gaps, and
        operands with a choice, that pass a crowded point; `constant` is what goes anyway."""
        self.constant, items = -self.saved, []
        stays = [[0] * (self.points + 1) for _ in range(self.lanes)]
        need = [[0] * (self.points + 1) for _ in range(self.lanes)]
        for gap in self.gaps:
            if gap.first > gap.last or (gap.load is None and not gap.height):
                continue
            if gap.load is None and len(gap.masks) == 1:
                self.add(stays, gap, gap.masks[0])
            elif gap.load is not None and gap.load <= 0:
                self.constant += gap.load
            elif gap.height:
                items.append(gap)
        items += self.operands
        for item in items:
            mask = 0
            for one in item.masks:
                mask |= one
            self.add(need, item, mask)
        self.room = []
        self.crowded = [0] * (self.points + 1)  # crowded points before each
        for lane in range(self.lanes):
            used, self.room_of_lane = 0, []
            for point in range(self.points):
                used += stays[lane][point]
                self.room_of_lane.append(max(0, self.size - used - self.taken[lane][point]))
            self.room.append(self.room_of_lane)
        wanted = [0] * self.lanes
        for point in range(self.points):
            wanted = [w + need[lane][point] for lane, w in enumerate(wanted)]
            full = any(w > self.room[lane][point] for lane, w in enumerate(wanted))
            self.crowded[point + 1] = self.crowded[point] + full
        self.items = [i for i in items if self.crowded[i.last + 1] > self.crowded[i.first]]

    def add(self, sums, gap, mask):
        for lane in range(self.lanes):
            if mask >> lane & 1:
                sums[lane][gap.first] += gap.height
                sums[lane][gap.last + 1] -= gap.height

    def store_of(self, item):
        """The store that cutting an item needs; 0: none."""
        return 0 if item.load is None or item.clean else item.value.store

    def round_up(self, parts):
        """The least sum of loads and stores that is no less."""
        costs = {i.load for i in self.items if i.load is not None}
        costs |= {self.store_of(i) for i in self.items}
        costs.discard(0)
        if parts <= 0 or not costs:
            return max(0, parts)
        unit = math.gcd(*costs)
        least = -(-parts // unit)
        size = least + min(costs) // unit + 1
        if size > 1 << 24:
            return least * unit
        sums, everything = 1, (1 << size) - 1
        for cost in costs:
            step = cost // unit
            while step < size:
                sums = (sums | sums << step) & everything
                step *= 2
        above = sums >> least
        return (least + (above & -above).bit_length() - 1) * unit


class End:
    """Stands for the read of an output at the end."""

    def __init__(self, tensor, rect):
        self.tensor, self.rect = tensor, rect
