/* The page of --html: a map of the State Buffer to zoom, search and click through. The data is the
 * JSON in the element `data` (page.c tells what it holds); nothing is fetched, and all text goes
 * into the page as text. The files of this directory are parts of one script, in the order model,
 * view, map, panel, input.
 *
 * The model: one function, prepared for drawing and searching. */

const DATA = JSON.parse(document.getElementById("data").textContent);
const QUADRANTS = 4, QUADRANT = 32;
const LEFT = 94, RIGHT = 14, TOP = 10, PRESSURE = 96, GAP = 12, DMA_ROW = 14, LOOP_ROW = 18;
const MOST_ROWS = 300; /* of a table */

/* Fill, edge, and both on a dark page. */
const PALETTE = [
    ["#ffb7bc", "#a3575f", "#6a353a", "#ce7e84"],
    ["#f3b397", "#a15d3e", "#72422b", "#cc8463"],
    ["#efc68f", "#936823", "#5f4110", "#bc8f4d"],
    ["#ccc887", "#7a7424", "#56521b", "#a19c4e"],
    ["#b6dba3", "#577e41", "#355125", "#7da667"],
    ["#8ed6b6", "#288463", "#1e5d45", "#55ac89"],
    ["#88e0df", "#008384", "#005454", "#39abab"],
    ["#85d0ee", "#127d9d", "#11586f", "#48a5c7"],
    ["#a9d1ff", "#4773ab", "#2a496f", "#6d9bd5"],
    ["#bebdfa", "#6c68a9", "#4c4977", "#928fd4"],
    ["#e3bdf4", "#875f9a", "#573b63", "#b085c3"],
    ["#edaed1", "#9a587f", "#6d3e59", "#c57fa6"],
];

/* ---- words ---- */

const number = n => n.toLocaleString("en-US");
const count = (n, noun) => `${number(n)} ${noun}${n === 1 ? "" : "s"}`;
const share = (part, whole) => whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : "";

/* `[3]`, `[0, 2..4]`: blocks in order; nothing for a tensor of one. */
function blockNames(tensor, blocks) {
    if (tensor.blocks === 1) return "";
    const parts = [];
    for (let i = 0, end; i < blocks.length; i = end) {
        for (end = i + 1; end < blocks.length && blocks[end] === blocks[end - 1] + 1;) end++;
        parts.push(end === i + 1 ? `${blocks[i]}` : `${blocks[i]}..${blocks[end - 1] + 1}`);
    }
    return `[${parts.join(", ")}]`;
}

function bytesLabel(bytes, step) {
    if (step >= 1 << 20) return `${number(bytes / (1 << 20))} MiB`;
    return step >= 1024 ? `${number(bytes / 1024)} KiB` : `${number(bytes)} B`;
}

/* `32–95`: of a mask of quadrants. */
function partitionsOf(mask) {
    const first = Math.log2(mask & -mask), last = Math.floor(Math.log2(mask));
    return `${first * QUADRANT}–${(last + 1) * QUADRANT - 1}`;
}

/* An element with properties and children; strings become text. */
function make(tag, properties, ...children) {
    const element = document.createElement(tag);
    Object.assign(element, properties);
    element.append(...children);
    return element;
}

/* ---- one function, prepared ---- */

/* The quadrants that a rectangle takes. */
function maskOf(partition, partitions) {
    const first = Math.floor(partition / QUADRANT);
    const size = partitions <= 32 ? 1 : partitions <= 64 ? 2 : 4;
    return (1 << size) - 1 << first;
}

/* Rectangles as arrays of numbers: blocks of tensors over intervals, the longest first, so that
 * what is drawn later lies over what is longer. */
function findRects(fn) {
    const rows = [];
    fn.tensors.forEach((tensor, t) => {
        for (let b = 0; b < tensor.at.length / 2; b++) {
            const live = tensor.live.length > 1 ? tensor.live[b] : tensor.live[0] || [];
            for (let i = 0; i < live.length; i += 2)
                rows.push([
                    t, b, live[i], live[i + 1], tensor.at[2 * b + 1],
                    maskOf(tensor.at[2 * b], tensor.partitions), [b]
                ]);
        }
    });
    rows.sort((a, b) => (b[3] - b[2]) - (a[3] - a[2]) || a[2] - b[2] || a[0] - b[0] || a[1] - b[1]);
    return joinSame(fn, rows);
}

/* Blocks of a tensor that have one place in different iterations are one rectangle. */
function joinSame(fn, rows) {
    if (fn.loops.length === 0) return rows;
    const known = new Map(), kept = [];
    for (const row of rows) {
        const key = `${row[0]} ${row[2]} ${row[3]} ${row[4]} ${row[5]}`;
        const same = known.get(key);
        if (same) {
            same[6].push(row[1]);
            continue;
        }
        known.set(key, row);
        kept.push(row);
    }
    return kept;
}

/* Which rectangles live in each of some stretches of points. */
function findBuckets(rects, points) {
    const size = Math.max(1, Math.ceil(points / 1024)), total = Math.ceil(points / size) || 1;
    const buckets = Array.from({length: total}, () => []);
    rects.forEach((rect, r) => {
        for (let k = Math.floor(rect[2] / size); k <= Math.floor(rect[3] / size); k++)
            buckets[k].push(r);
    });
    return {size, buckets};
}

/* Quadrants that always hold the same are one lane: masks of quadrants. */
function findLanes(rects) {
    const lanes = [1];
    for (let q = 1; q < QUADRANTS; q++) {
        const alike = rects.every(rect => (rect[5] >> q & 1) === (rect[5] >> q - 1 & 1));
        if (!alike) lanes.push(0);
        lanes[lanes.length - 1] |= 1 << q;
    }
    return lanes;
}

/* Of each tensor: [point, first block, last block, written] of each access, in order. */
function findAccesses(fn) {
    const accesses = fn.tensors.map(() => []);
    fn.insts.forEach((inst, point) => {
        for (let o = 0; o < inst[3].length; o += 4)
            accesses[inst[3][o]].push([point, inst[3][o + 1], inst[3][o + 2], inst[3][o + 3]]);
    });
    return accesses;
}

/* The lines of the function: [text, depth, point or -1]. */
function findLines(fn) {
    const lines = [], open = [];
    let next = 0;
    const closeTo = point => {
        while (open.length > 0 && fn.loops[open[open.length - 1]][4] <= point) {
            open.pop();
            lines.push(["}", open.length + 1, -1]);
        }
    };
    for (let point = 0; point <= fn.insts.length; point++) {
        closeTo(point);
        for (; next < fn.loops.length && fn.loops[next][3] === point; next++) {
            const [name, low, high, , end, depth] = fn.loops[next];
            while (open.length > depth) {
                open.pop();
                lines.push(["}", open.length + 1, -1]);
            }
            lines.push([`loop ${name} = ${low}..${high} {`, open.length + 1, -1]);
            open.push(next);
            if (end === point) closeTo(point);
        }
        if (point < fn.insts.length) lines.push([fn.insts[point][0], open.length + 1, point]);
    }
    return lines;
}

function family(name) {
    return name.replace(/[0-9_.]+$/, "") || name;
}

/* Tensors made from one have its colour; families share one where there are several. */
function findColours(fn) {
    const roots = fn.tensors.filter(tensor => tensor.space === "sb").map(tensor => tensor.root);
    const families = new Map();
    for (const root of roots) families.set(family(root), (families.get(family(root)) || 0) + 1);
    const several = families.size >= 3 && Math.max(...families.values()) < roots.length * .8;
    const colours = new Map();
    return fn.tensors.map(tensor => {
        const name = several ? family(tensor.root) : tensor.root;
        if (tensor.space === "sb" && !colours.has(name)) colours.set(name, colours.size * 5 % 12);
        return colours.get(name) || 0;
    });
}

/* The same in columns: what each picture looks at. */
function makeColumns(fn, rects, colours) {
    const columns = {
        tensor: new Int32Array(rects.length),
        first: new Int32Array(rects.length),
        last: new Int32Array(rects.length),
        low: new Float64Array(rects.length),
        high: new Float64Array(rects.length),
        mask: new Uint8Array(rects.length),
        cell: new Uint8Array(rects.length)
    };
    rects.forEach((rect, r) => {
        [columns.tensor[r], , columns.first[r], columns.last[r], columns.low[r], columns.mask[r]] =
            rect;
        columns.high[r] = rect[4] + fn.tensors[rect[0]].bytes;
        columns.cell[r] = 1 + colours[rect[0]];
    });
    return columns;
}

function prepare(fn) {
    const points = fn.insts.length, rects = findRects(fn);
    const {size, buckets} = findBuckets(rects, points);
    const colours = findColours(fn);
    const lines = findLines(fn), lineOf = new Int32Array(points);
    lines.forEach((line, i) => {
        if (line[2] >= 0) lineOf[line[2]] = i;
    });
    let high = 0;
    for (const rect of rects) high = Math.max(high, rect[4] + fn.tensors[rect[0]].bytes);
    const depth = fn.loops.reduce((most, loop) => Math.max(most, loop[5] + 1), 0);
    const most = (list, start) => list ? list.reduce((a, b) => Math.max(a, b), start) : start;
    const model = {
        fn,
        points,
        rects,
        size,
        buckets,
        lines,
        lineOf,
        high,
        lanes: findLanes(rects),
        accesses: findAccesses(fn),
        colours,
        columns: makeColumns(fn, rects, colours),
        whereWidth: fn.insts.reduce(
            (most, inst) => Math.max(most, Math.min(24, inst[1].replace(/.*\//, "").length)), 6),
        lit: new Uint8Array(fn.tensors.length).fill(1),
        peak: most(fn.need, 0),
        needed: Math.min(most(fn.before, most(fn.need, 0)), 3 * DATA.usable),
        loopRows: Math.min(depth, 6),
        stamp: new Int32Array(rects.length),
        frame: 0,
    };
    model.ceiling = ceiling(Math.max(high, model.peak));
    return model;
}

/* The capacity is shown unless most of it is free. */
function ceiling(most) {
    if (most > DATA.usable / 2 && DATA.usable > most) most = DATA.usable;
    return Math.max(16, most * 1.06);
}

/* The rectangles that live at points of [first, last], in drawing order. */
function rectsAt(model, first, last) {
    const found = [], frame = ++model.frame;
    const begin = Math.max(0, Math.floor(first / model.size));
    const end = Math.min(model.buckets.length - 1, Math.floor(last / model.size));
    if (2 * (end - begin) > model.buckets.length) { /* most of them: in one walk */
        const columns = model.columns;
        for (let r = 0; r < model.rects.length; r++)
            if (columns.first[r] <= last && columns.last[r] >= first) found.push(r);
        return found;
    }
    for (let k = begin; k <= end; k++)
        for (const r of model.buckets[k]) {
            const rect = model.rects[r];
            if (model.stamp[r] === frame || rect[2] > last || rect[3] < first) continue;
            model.stamp[r] = frame;
            found.push(r);
        }
    if (end > begin) found.sort((a, b) => a - b);
    return found;
}

/* The first access of a tensor at `point` or later; its length where there is none. */
function accessFrom(list, point) {
    let low = 0, high = list.length;
    while (low < high) {
        const middle = low + high >> 1;
        if (list[middle][0] < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
