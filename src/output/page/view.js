/* The view: what is shown of the model, the elements of the page, and where things lie on it. */

/* ---- state ---- */

const models = new Map();
const state = {
    index: 0,
    model: null,
    x0: 0,
    x1: 1, /* points in view */
    b0: 0,
    b1: 1,         /* bytes in view */
    cursor: 0,     /* point */
    root: null,    /* selected: all tensors made from one */
    tensor: -1,    /* selected itself */
    matches: null, /* tensors that the search names; null: none is on */
    match: -1,
    tab: "point",
    drawn: 0, /* rectangles of the last picture */
};

const fnOf = () => state.model.fn;
const isLit = t => state.model.lit[t] === 1;

/* What is selected, else what the search names, else all. */
function findLit() {
    fnOf().tensors.forEach((tensor, t) => {
        state.model.lit[t] = state.root !== null ? tensor.root === state.root :
                                                   state.matches === null || state.matches.has(t);
    });
}

/* ---- the page ---- */

const title = make("h1");
const chooser = make("select", {id: "chooser", ariaLabel: "function"});
const search = make("input", {
    id: "search",
    type: "search",
    placeholder: "tensor (press /)",
    ariaLabel: "search for a tensor"
});
const found = make("span", {id: "found"});
const sum = make("span", {id: "sum"});
const canvas = make("canvas", {id: "canvas"});
const over = make("canvas", {id: "over", tabIndex: 0}); /* the cursor, which moves more often */
canvas.setAttribute("role", "img");
const tip = make("div", {id: "tip", hidden: true});
const map = make("div", {id: "map"}, canvas, over, tip);
const tabs = {
    point: make("button"),
    peak: make("button"),
    tensor: make("button")
};
const info = make("div", {id: "info"});
const spacer = make("div");
const code = make("div", {id: "code", tabIndex: 0}, spacer);
const nav = make("nav");
const context = canvas.getContext("2d"), above = over.getContext("2d");
let colours = {}, dark = false, pending = false, stale = false, box = null, geometry = null;

function buildPage() {
    const zoom = (text, hint, action) =>
        make("button", {textContent: text, title: hint, onclick: action});
    const words =
        "wheel: zoom · shift: bytes · drag: move · drag the curve: zoom into it · click: select";
    const help = make("span", {id: "help", textContent: words, title: words});
    document.body.append(
        make(
            "header", {}, title, chooser, search, found, zoom("−", "zoom out", () => zoomBy(2)),
            zoom("+", "zoom in", () => zoomBy(.5)), zoom("Fit", "all of it (0)", fit), sum, help),
        make("main", {}, map, make("aside", {}, nav, info, code)));
    for (const [name, button] of Object.entries(tabs)) {
        button.textContent = {point: "Here", peak: "Peak", tensor: "Tensor"}[name];
        button.id = `tab-${name}`;
        button.onclick = () => showTab(name);
        nav.append(button);
    }
    DATA.functions.forEach(
        (fn, i) =>
            chooser.append(make("option", {value: i, textContent: `@${fn.name}${fn.side}`})));
    chooser.hidden = DATA.functions.length < 2;
    chooser.onchange = () => choose(Number(chooser.value));
}

function readColours() {
    const style = getComputedStyle(document.documentElement);
    colours = {};
    for (const name
             of ["page", "text", "faint", "lane", "frame", "grid", "need", "before", "capacity",
                 "spill", "reload", "dma", "cursor"])
        colours[name] = style.getPropertyValue(`--${name}`).trim();
    dark = matchMedia("(prefers-color-scheme: dark)").matches;
    redraw();
}

/* Draws with the next frame: all, or the cursor alone. */
function redraw(all = true) {
    stale = stale || all;
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
        pending = false;
        if (!state.model) return;
        if (stale) draw();
        stale = false;
        drawCursor();
    });
}

/* ---- where things lie ---- */

function layOut() {
    const rect = map.getBoundingClientRect(), model = state.model;
    const scale = devicePixelRatio || 1;
    const width = Math.max(200, rect.width), height = Math.max(200, rect.height);
    for (const each of [canvas, over]) {
        if (each.width === Math.round(width * scale) && each.height === Math.round(height * scale))
            continue;
        each.width = Math.round(width * scale);
        each.height = Math.round(height * scale);
    }
    context.setTransform(scale, 0, 0, scale, 0, 0);
    above.setTransform(scale, 0, 0, scale, 0, 0);
    const below = 40 + 2 * DMA_ROW + 8 + model.loopRows * LOOP_ROW;
    const top = TOP + PRESSURE + GAP, space = height - top - below;
    const each = Math.max(24, (space - (model.lanes.length - 1) * 8) / model.lanes.length);
    const lanes = model.lanes.map((mask, i) => ({mask, top: top + i * (each + 8), height: each}));
    const foot = top + model.lanes.length * (each + 8) - 8;
    geometry = {
        width,
        height,
        lanes,
        foot,
        plot: width - LEFT - RIGHT,
        axis: foot + 14,
        dma: foot + 38,
        loops: foot + 38 + 2 * DMA_ROW + 8
    };
}

const xOf = point => LEFT + (point - state.x0) / (state.x1 - state.x0) * geometry.plot;
const pointAt = x => state.x0 + (x - LEFT) / geometry.plot * (state.x1 - state.x0);
const yOf = (lane, byte) =>
    lane.top + lane.height - (byte - state.b0) / (state.b1 - state.b0) * lane.height;
const byteAt = (lane, y) =>
    state.b0 + (lane.top + lane.height - y) / lane.height * (state.b1 - state.b0);
const needY = bytes => TOP + PRESSURE - Math.min(1, bytes / needTop()) * (PRESSURE - 4);
const needTop = () => ceiling(Math.max(state.model.needed, state.model.peak));

function clampView() {
    const model = state.model, most = Math.max(1, model.points);
    let wide = Math.min(Math.max(state.x1 - state.x0, Math.min(most, 4)), most);
    state.x0 = Math.min(Math.max(state.x0, 0), most - wide);
    state.x1 = state.x0 + wide;
    let high = Math.min(Math.max(state.b1 - state.b0, Math.min(model.ceiling, 64)), model.ceiling);
    state.b0 = Math.min(Math.max(state.b0, 0), model.ceiling - high);
    state.b1 = state.b0 + high;
}

/* Zooms points around one of them, or bytes around one. */
function zoomPoints(factor, around) {
    state.x0 = around - (around - state.x0) * factor;
    state.x1 = around + (state.x1 - around) * factor;
    clampView();
    redraw();
}

function zoomBytes(factor, around) {
    state.b0 = around - (around - state.b0) * factor;
    state.b1 = around + (state.b1 - around) * factor;
    clampView();
    redraw();
}

function zoomBy(factor) {
    zoomPoints(factor, (state.x0 + state.x1) / 2);
}

function fit() {
    state.x0 = 0;
    state.x1 = Math.max(1, state.model.points);
    state.b0 = 0;
    state.b1 = state.model.ceiling;
    clampView();
    redraw();
}

/* Brings points into view with some room on both sides. */
function showPoints(first, last) {
    const room = Math.max(2, (last - first + 1) * .25);
    state.x0 = first - room;
    state.x1 = last + 1 + room;
    clampView();
    redraw();
}

/* Moves the view so that a point is in it. */
function reveal(point) {
    if (point >= state.x0 && point < state.x1) return;
    const wide = state.x1 - state.x0;
    state.x0 = point - wide / 2;
    state.x1 = state.x0 + wide;
    clampView();
}

/* Stretches of bytes that are free at a point in all quadrants of a mask, [low, high], from the
 * bottom up. */
function freeAt(point, mask) {
    const taken = rectsAt(state.model, point, point)
                      .map(r => state.model.rects[r])
                      .filter(rect => rect[5] & mask)
                      .map(rect => [rect[4], rect[4] + fnOf().tensors[rect[0]].bytes])
                      .sort((a, b) => a[0] - b[0]);
    const free = [];
    let above = 0;
    for (const [low, high] of [...taken, [DATA.usable, DATA.usable]]) {
        if (low - above >= 8) free.push([above, low]);
        above = Math.max(above, high);
    }
    return free;
}

const largestOf = free => free.reduce((a, b) => b[1] - b[0] > a[1] - a[0] ? b : a, [0, 0]);
