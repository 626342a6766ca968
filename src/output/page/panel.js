/* The panel beside the map: the cursor's point, the worst points, a tensor, and the function. */

/* ---- the panel ---- */

const nameOf = (t, blocks) =>
    `%${fnOf().tensors[t].name}${blocks ? blockNames(fnOf().tensors[t], blocks) : ""}`;
const placeName = where => /^\d/.test(where) ? `line ${where}` : where;
const placeOf = point => {
    const [, where, kind] = fnOf().insts[point];
    return kind < 4 ? placeName(where) : where ? `inserted for ${placeName(where)}` : "inserted";
};

function pointLink(point) {
    return `${number(point)} (${placeOf(point)})`;
}

function table(heads, rows) {
    const head = make(
        "tr", {}, ...heads.map(([name, kind]) => make("th", {className: kind, textContent: name})));
    const body = rows.slice(0, MOST_ROWS).map(({cells, click, lit}) => {
        const row = make(
            "tr", {className: (click ? "go" : "") + (lit ? " lit" : "")},
            ...cells.map((cell, i) => make("td", {className: heads[i][1], textContent: cell})));
        if (click) row.onclick = click;
        return row;
    });
    const result = make("table", {}, make("thead", {}, head), make("tbody", {}, ...body));
    if (rows.length > MOST_ROWS)
        result.append(make(
            "caption",
            {textContent: `and ${number(rows.length - MOST_ROWS)} more`, className: "faint"}));
    return result;
}

/* What an access of a tensor at the point, or the next behind it, is. */
function nextAccess(t, point) {
    const list = state.model.accesses[t], a = accessFrom(list, point);
    if (a < list.length && list[a][0] === point) return "here";
    return a < list.length ? number(list[a][0]) : "none";
}

/* Tensors that live at a point: [tensor, blocks], the largest first. */
function liveAt(point) {
    const blocks = new Map();
    for (const r of rectsAt(state.model, point, point)) {
        const rect = state.model.rects[r], list = blocks.get(rect[0]);
        if (list)
            list.push(...rect[6]);
        else
            blocks.set(rect[0], [...rect[6]]);
    }
    const size = ([t, list]) => list.length * fnOf().tensors[t].bytes;
    return [...blocks].sort((a, b) => size(b) - size(a) || a[0] - b[0]);
}

function showPoint() {
    const fn = fnOf(), point = state.cursor;
    if (state.model.points === 0) {
        info.replaceChildren(make("p", {textContent: "No instructions."}));
        return;
    }
    const rows = liveAt(point).map(([t, blocks]) => ({
                                       cells: [
                                           nameOf(t, blocks.sort((a, b) => a - b)),
                                           number(blocks.length * fn.tensors[t].bytes),
                                           fn.tensors[t].partitions, nextAccess(t, point)
                                       ],
                                       click: () => select(t),
                                       lit: state.root !== null && isLit(t),
                                   }));
    const needed =
        [`${number(fn.need[point])} bytes taken at once, ` +
         `${share(fn.need[point], DATA.usable)} of ${number(DATA.usable)}`];
    if (fn.before) needed.push(`${number(fn.before[point])} needed before spilling`);
    const free = state.model.lanes.map(mask => {
        const stretches = freeAt(point, mask), largest = largestOf(stretches);
        const total = stretches.reduce((all, [low, high]) => all + high - low, 0);
        const partitions = state.model.lanes.length > 1 ? `partitions ${partitionsOf(mask)}: ` : "";
        return `${partitions}${number(total)} bytes free, ${
            number(largest[1] - largest[0])} in one piece`;
    });
    info.replaceChildren(
        make("h2", {textContent: `Point ${pointLink(point)}`}),
        make("p", {className: "code", textContent: fn.insts[point][0]}),
        make("p", {textContent: needed.join(" · ")}),
        ...free.map(words => make("p", {className: "faint", textContent: words})),
        table([["live", "name"], ["bytes", "n"], ["part.", "n"], ["next access", "n"]], rows));
    if (fn.loops.length)
        info.append(make("p", {
            className: "faint",
            textContent:
                "In loops, what lives in any iteration is listed; what is taken is that of the worst one."
        }));
}

function peakRows(peak, indexOf) {
    return peak.live.map(row => {
        const t = indexOf.get(row[0]) ?? -1;
        const blocks =
            t >= 0 && fnOf().tensors[t].blocks > 1 || row[1] > 1 ? ` ×${number(row[1])}` : "";
        const shared = row.length < 11 ? "" :
            row[10] < row[2]           ? ` (${number(row[10])} in %${row[9]})` :
                                         ` (in %${row[9]})`;
        return {
            cells: [
                `%${row[0]}${blocks}${shared}`, number(row[2]), row[3],
                `${number(row[4])}–${number(row[5])}`, row[6],
                row[7]         ? "here" :
                    row[8] < 0 ? "none" :
                                 number(row[8])
            ],
            click: t >= 0 ? () => select(t) : null,
            lit: state.root !== null && t >= 0 && isLit(t),
        };
    });
}

function showPeak() {
    const indexOf = new Map(); /* what was spilled is its first copy */
    fnOf().tensors.forEach((tensor, t) => {
        if (!indexOf.has(tensor.root)) indexOf.set(tensor.root, t);
    });
    fnOf().tensors.forEach((tensor, t) => indexOf.set(tensor.name, t));
    info.replaceChildren();
    for (const peak of fnOf().peaks) {
        const over = peak.bytes - DATA.usable;
        const place = peak.iteration ? `, where ${peak.iteration}` : "";
        const go = make("button", {textContent: "go there", onclick: () => goTo(peak.point)});
        info.append(
            make(
                "h2",
                {textContent: peak.when === "now" ? "Most is taken" : "Needed before spilling"}),
            make(
                "p", {
                    textContent: `${number(peak.bytes)} of ${number(DATA.usable)} bytes, ` +
                        (over > 0 ? `${number(over)} too many` : `${number(Math.abs(over))} free`) +
                        `, at point ${number(peak.point)} (${placeName(peak.where)})${place} `
                },
                go),
            make("p", {className: "code", textContent: peak.text}),
            table(
                [
                    ["live there", "name"], ["bytes", "n"], ["part.", "n"], ["points", "n"],
                    ["lines", "n"], ["next access", "n"]
                ],
                peakRows(peak, indexOf)));
    }
    if (fnOf().peaks.length === 0) info.append(make("p", {textContent: "Nothing is taken."}));
}

function factsOf(tensor, t) {
    const facts = [
        tensor.type,
        `${number(tensor.bytes)} bytes per partition` +
            (tensor.blocks > 1 ? ` a block, ${count(tensor.blocks, "block")}` : "")
    ];
    if (tensor.kinds.length)
        facts.push(tensor.kinds
                       .map(
                           kind => ({
                                       copy: `working copy of %${tensor.root}`,
                                       home: `home in DRAM of %${tensor.root}`,
                                       pin: "pinned"
                                   })[kind] ||
                               kind)
                       .join(", "));
    if (tensor.offset !== undefined)
        facts.push(`at byte ${number(tensor.offset)} of the spill area`);
    if (tensor.cost !== undefined && tensor.cost !== 0)
        facts.push(
            tensor.cost === null ? "must not be spilled" :
                                   `spilling it costs ${count(Math.round(tensor.cost), "cycle")}`);
    const ranges = tensor.live.length ? tensor.live : [];
    const spans = ranges.flatMap(live => live);
    if (spans.length)
        facts.push(
            `live from point ${pointLink(spans.reduce((a, b) => Math.min(a, b)))} ` +
            `to ${pointLink(spans.reduce((a, b) => Math.max(a, b)))}`);
    return facts;
}

function placesOf(tensor) {
    const rows = [];
    for (let b = 0; b < tensor.at.length / 2 && b <= MOST_ROWS; b++)
        rows.push({
            cells: [
                tensor.blocks > 1 ? `block ${b}` : "",
                `${tensor.at[2 * b]}–${tensor.at[2 * b] + tensor.partitions - 1}`,
                `${number(tensor.at[2 * b + 1])}–${number(tensor.at[2 * b + 1] + tensor.bytes - 1)}`
            ]
        });
    return rows.length ? table([["", "name"], ["partitions", "n"], ["bytes", "n"]], rows) : "";
}

function showTensor() {
    const fn = fnOf();
    if (state.tensor < 0) {
        info.replaceChildren(
            make("p", {className: "faint", textContent: "Click on a tensor, or search for one."}));
        return;
    }
    const tensor = fn.tensors[state.tensor];
    info.replaceChildren(
        make("h2", {textContent: nameOf(state.tensor)}),
        ...factsOf(tensor).map(fact => make("p", {textContent: fact})), placesOf(tensor));
    const related = fn.tensors.map((other, t) => [other, t])
                        .filter(([other, t]) => other.root === tensor.root && t !== state.tensor);
    if (related.length)
        info.append(
            make("h2", {textContent: "Its copies, parts and home"}),
            table(
                [["tensor", "name"], ["kind", ""], ["bytes", "n"]],
                related.map(
                    ([other, t]) => ({
                        cells:
                            [nameOf(t), other.kinds.join(", ") || other.space, number(other.bytes)],
                        click: () => select(t)
                    }))));
    const named = [];
    for (let point = 0; point < fn.insts.length && named.length <= MOST_ROWS; point++)
        if (touches(point)) named.push(point);
    const dmas = named.filter(point => fn.insts[point][2] & 12);
    if (dmas.length)
        info.append(
            make("h2", {textContent: "DMAs that spilling added"}),
            table(
                [["point", "n"], ["instruction", "name"], ["runs", "n"], ["cycles", "n"]],
                dmas.map(point => ({
                             cells: [
                                 number(point), fn.insts[point][0], number(fn.insts[point][5]),
                                 number(fn.insts[point][4])
                             ],
                             click: () => goTo(point)
                         }))));
    info.append(
        make("h2", {textContent: "Instructions"}),
        table(
            [["point", "n"], ["line", "n"], ["instruction", "name"]],
            named.map(point => ({
                          cells: [number(point), fn.insts[point][1], fn.insts[point][0]],
                          click: () => goTo(point)
                      }))));
}

function showTab(name) {
    state.tab = name;
    for (const [other, button] of Object.entries(tabs))
        button.setAttribute("aria-selected", other === name);
    ({point: showPoint, peak: showPeak, tensor: showTensor})[name]();
}

/* ---- the lines of the function ---- */

const ROW = 18, MOST_PIXELS = 8000000; /* browsers have a limit on heights */

/* Pixels of the list for one line: less than a row where there are too many lines. */
const rowStep = () => Math.min(ROW, MOST_PIXELS / Math.max(1, state.model.lines.length));

function drawCode() {
    const model = state.model, step = rowStep();
    const first = Math.max(0, Math.floor(code.scrollTop / step));
    const end = Math.min(model.lines.length, first + Math.ceil(code.clientHeight / ROW) + 2);
    const rows = [];
    for (let i = first; i < end; i++) {
        const [words, depth, point] = model.lines[i],
                             kind = point >= 0 ? fnOf().insts[point][2] : 0;
        const classes = [
            "row",
            kind & 4     ? "spill" :
                kind & 8 ? "reload" :
                           "",
            point >= 0 && state.root !== null && touches(point) ? "lit" : "",
            point === state.cursor && point >= 0 ? "here" : ""
        ];
        const row = make(
            "div", {className: classes.filter(Boolean).join(" ")},
            make("i", {textContent: point >= 0 ? fnOf().insts[point][1].replace(/.*\//, "") : ""}),
            `${"  ".repeat(Math.min(depth - 1, 40))}${words}`);
        row.style.top = `${first * step + (i - first) * ROW}px`;
        if (point >= 0) row.onclick = () => goTo(point);
        row.firstChild.style.width = `${model.whereWidth}ch`;
        rows.push(row);
    }
    spacer.style.height = `${model.lines.length * step + ROW}px`;
    spacer.replaceChildren(...rows);
}

function scrollToLine(point) {
    if (state.model.points === 0) return;
    const step = rowStep(), top = state.model.lineOf[point] * step;
    if (top < code.scrollTop + ROW || top > code.scrollTop + code.clientHeight - 2 * ROW)
        code.scrollTop = Math.max(0, top - code.clientHeight / 2);
}
