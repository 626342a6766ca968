/* What the user does, and what begins when the page is there. */

/* ---- what the user does ---- */

function moveCursor(point) {
    const last = Math.max(0, state.model.points - 1);
    point = Math.min(Math.max(0, Math.floor(point)), last);
    if (point === state.cursor) return;
    state.cursor = point;
    if (state.tab === "point") showPoint();
    scrollToLine(point);
    drawCode();
    redraw(false);
}

function goTo(point) {
    moveCursor(point);
    reveal(point);
    redraw();
}

/* Selects a tensor with all that was made from it; -1: nothing. */
function select(t) {
    state.tensor = t;
    state.root = t < 0 ? null : fnOf().tensors[t].root;
    findLit();
    if (t >= 0)
        showTab("tensor");
    else
        showTab(state.tab);
    if (t >= 0) {
        const first = state.model.accesses.findIndex(
            (list, u) => list.length > 0 && fnOf().tensors[u].root === state.root);
        if (first >= 0 && !touches(state.cursor)) scrollToLine(state.model.accesses[first][0][0]);
    }
    drawCode();
    redraw();
}

/* The rectangle on top at a place of the map, or -1. */
function hit(x, y) {
    const lane = geometry.lanes.find(each => y >= each.top && y < each.top + each.height);
    if (!lane || x < LEFT || x > LEFT + geometry.plot) return -1;
    const point = Math.floor(pointAt(x)), byte = byteAt(lane, y);
    const near = 1.5 / lane.height * (state.b1 - state.b0); /* what is thin is hit beside it too */
    const all = rectsAt(state.model, point, point);
    for (let slack = 0; slack <= near; slack += near)
        for (let i = all.length - 1; i >= 0; i--) {
            const rect = state.model.rects[all[i]], high = rect[4] + fnOf().tensors[rect[0]].bytes;
            if ((rect[5] & lane.mask) && rect[4] - slack <= byte && byte < high + slack)
                return all[i];
        }
    return -1;
}

function showTip(x, y) {
    const r = hit(x, y);
    tip.hidden = r < 0;
    if (r < 0) return;
    const rect = state.model.rects[r], tensor = fnOf().tensors[rect[0]];
    const lines = [
        nameOf(rect[0], rect[6]), tensor.type,
        `points ${number(rect[2])}–${number(rect[3])}, ${placeOf(rect[2])} to ${placeOf(rect[3])}`,
        `bytes ${number(rect[4])}–${number(rect[4] + tensor.bytes - 1)}`
    ];
    if (rect[6].length > 1) lines.push("one block after another, in different iterations");
    tip.textContent = lines.join("\n");
    tip.style.left = `${Math.min(x + 14, geometry.width - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.min(y + 14, geometry.height - tip.offsetHeight - 8)}px`;
}

function find(words) {
    const wanted = words.trim().replace(/^%/, "").toLowerCase();
    state.matches = null;
    state.match = -1;
    if (wanted) {
        state.matches = new Set();
        fnOf().tensors.forEach((tensor, t) => {
            if (tensor.name.toLowerCase().includes(wanted)) state.matches.add(t);
        });
    }
    if (state.root !== null) select(-1);
    findLit();
    found.textContent = state.matches ? `${number(state.matches.size)} found` : "";
    redraw();
}

/* The next tensor that the search names: selected, and in view. */
function findNext(back) {
    if (!state.matches || state.matches.size === 0) return;
    const all = [...state.matches];
    state.match = (state.match + (back ? all.length - 1 : 1) + (back && state.match < 0 ? 1 : 0)) %
        all.length;
    found.textContent = `${number(state.match + 1)} of ${number(all.length)}`;
    const t = all[state.match], spans = fnOf().tensors[t].live.flatMap(live => live);
    select(t);
    if (spans.length)
        showPoints(spans.reduce((a, b) => Math.min(a, b)), spans.reduce((a, b) => Math.max(a, b)));
}

function choose(index) {
    state.index = index;
    DATA.target = DATA.functions[index].target;
    DATA.usable = DATA.functions[index].usable;
    if (!models.has(index)) models.set(index, prepare(DATA.functions[index]));
    const fn = DATA.functions[index], report = fn.report;
    state.model = models.get(index);
    state.cursor = fn.peaks.length ? fn.peaks[0].point : 0;
    state.root = null;
    state.tensor = -1;
    chooser.value = index;
    title.textContent = `@${fn.name}${fn.side}`;
    const words = [
        `${DATA.target}: ${number(DATA.usable)} bytes per partition usable`,
        `high water ${number(state.model.high)}`
    ];
    if (report && report.spilled_tensors > 0)
        words.push(
            `${count(report.spilled_tensors, "tensor")} spilled, ` +
            `${count(report.saves, "store")}, ${count(report.reloads, "reload")}, ` +
            `${count(report.spill_cycles, "cycle")}`);
    else if (report)
        words.push("nothing spilled");
    sum.textContent = words.join(" · ");
    search.value = "";
    find("");
    fit();
    showTab(fn.before ? "peak" : "point");
    drawCode(); /* the list has its height now */
    scrollToLine(state.cursor);
    drawCode();
}

/* ---- events ---- */

let press = null;

function local(event) {
    const rect = over.getBoundingClientRect();
    return [event.clientX - rect.left, event.clientY - rect.top];
}

over.addEventListener("wheel", event => {
    event.preventDefault();
    const [x, y] = local(event), delta = event.deltaY || event.deltaX;
    const factor =
        Math.pow(1.0015, Math.max(-400, Math.min(400, delta * (event.deltaMode ? 20 : 1))));
    const lane = geometry.lanes.find(each => y >= each.top && y < each.top + each.height);
    if (event.shiftKey && lane)
        zoomBytes(factor, byteAt(lane, y));
    else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) && !event.shiftKey) {
        const move = event.deltaX / geometry.plot * (state.x1 - state.x0);
        state.x0 += move;
        state.x1 += move;
        clampView();
        redraw();
    } else
        zoomPoints(factor, pointAt(x));
}, {passive: false});

over.addEventListener("pointerdown", event => {
    if (event.button !== 0) return;
    const [x, y] = local(event);
    over.setPointerCapture(event.pointerId);
    press = {
        x,
        y,
        x0: state.x0,
        x1: state.x1,
        b0: state.b0,
        b1: state.b1,
        moved: false,
        zoom: y < TOP + PRESSURE || event.shiftKey
    };
});

over.addEventListener("pointermove", event => {
    const [x, y] = local(event);
    if (!press) {
        moveCursor(pointAt(x));
        showTip(x, y);
        return;
    }
    if (Math.abs(x - press.x) + Math.abs(y - press.y) > 3) press.moved = true;
    if (!press.moved) return;
    tip.hidden = true;
    if (press.zoom) {
        box = {
            from: Math.max(LEFT, press.x),
            to: Math.min(LEFT + geometry.plot, Math.max(LEFT, x))
        };
        redraw(false);
    } else {
        over.classList.add("drag");
        const points = (press.x - x) / geometry.plot * (press.x1 - press.x0);
        const bytes = (y - press.y) / geometry.lanes[0].height * (press.b1 - press.b0);
        [state.x0, state.x1] = [press.x0 + points, press.x1 + points];
        [state.b0, state.b1] = [press.b0 + bytes, press.b1 + bytes];
        clampView();
        redraw();
    }
});

over.addEventListener("pointerup", event => {
    const [x, y] = local(event), done = press;
    press = null;
    over.classList.remove("drag");
    if (!done) return;
    if (done.moved && box) {
        const from = pointAt(Math.min(box.from, box.to)), to = pointAt(Math.max(box.from, box.to));
        [state.x0, state.x1] = [from, to];
        clampView();
    } else if (!done.moved) {
        const r = hit(x, y);
        select(r < 0 ? -1 : state.model.rects[r][0]);
    }
    box = null;
    redraw();
});

over.addEventListener("pointercancel", () => {
    press = box = null;
    redraw();
});
over.addEventListener("pointerleave", () => {
    tip.hidden = true;
});
over.addEventListener("dblclick", fit);
code.addEventListener("scroll", drawCode);
search.addEventListener("input", () => find(search.value));
search.addEventListener("keydown", event => {
    if (event.key === "Enter") findNext(event.shiftKey);
    if (event.key === "Escape") {
        search.value = "";
        find("");
        over.focus();
    }
    event.stopPropagation();
});

document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === chooser) return;
    const move = by => {
        goTo(state.cursor + by);
        event.preventDefault();
    };
    switch (event.key) {
        case "/":
            search.focus();
            event.preventDefault();
            break;
        case "Escape":
            select(-1);
            break;
        case "0":
            fit();
            break;
        case "+":
        case "=":
            zoomPoints(.5, state.cursor + .5);
            break;
        case "-":
            zoomPoints(2, state.cursor + .5);
            break;
        case "ArrowLeft":
            move(-1);
            break;
        case "ArrowRight":
            move(1);
            break;
    }
});

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", readColours);
new ResizeObserver(() => {
    redraw();
    if (state.model) drawCode();
}).observe(map);

/* What tests look at. */
window.sballoc = {
    state,
    models,
    rectsAt,
    xOf: point => xOf(point),
    yOf: (lane, byte) => yOf(geometry.lanes[lane], byte)
};

buildPage();
readColours();
if (DATA.functions.length > 0)
    choose(0);
else
    title.textContent = "no function";
