/* The map: what the canvas shows. */

/* ---- drawing ---- */

function line(x1, y1, x2, y2, colour, dash) {
    context.strokeStyle = colour;
    context.setLineDash(dash || []);
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x2, y2);
    context.stroke();
    context.setLineDash([]);
}

function text(words, x, y, colour, align) {
    context.fillStyle = colour;
    context.textAlign = align || "left";
    context.fillText(words, x, y);
}

/* A step curve: where points share a pixel, the most of them. */
function tracePoints(values) {
    const first = Math.max(0, Math.floor(state.x0)),
          end = Math.min(values.length, Math.ceil(state.x1));
    const path = new Path2D();
    let begun = false;
    for (let p = first; p < end;) {
        const x = xOf(p);
        let most = values[p], next = p + 1;
        for (; next < end && xOf(next) < x + 1; next++) most = Math.max(most, values[next]);
        if (begun)
            path.lineTo(x, needY(most));
        else
            path.moveTo(x, needY(most));
        begun = true;
        path.lineTo(xOf(next), needY(most));
        p = next;
    }
    return {path, first, end};
}

function drawPressure() {
    const right = LEFT + geometry.plot;
    context.fillStyle = colours.lane;
    context.fillRect(LEFT, TOP, geometry.plot, PRESSURE);
    context.save();
    context.beginPath();
    context.rect(LEFT, TOP, geometry.plot, PRESSURE);
    context.clip();
    if (state.model.points > 0) {
        const {path, first, end} = tracePoints(fnOf().need);
        const area = new Path2D(path);
        area.lineTo(xOf(end), TOP + PRESSURE);
        area.lineTo(xOf(first), TOP + PRESSURE);
        context.fillStyle = colours.need;
        context.globalAlpha = .2;
        context.fill(area);
        context.globalAlpha = 1;
        context.strokeStyle = colours.need;
        context.stroke(path);
        if (fnOf().before) {
            context.strokeStyle = colours.before;
            context.stroke(tracePoints(fnOf().before).path);
        }
    }
    if (DATA.usable <= needTop())
        line(LEFT, needY(DATA.usable), right, needY(DATA.usable), colours.capacity, [8, 4]);
    context.restore();
    context.strokeStyle = colours.frame;
    context.strokeRect(LEFT + .5, TOP + .5, geometry.plot - 1, PRESSURE - 1);
    text("bytes taken", LEFT - 8, TOP + 12, colours.faint, "right");
    if (fnOf().before) text("— before", LEFT - 8, TOP + 27, colours.before, "right");
    if (DATA.usable <= needTop())
        text("- - usable", LEFT - 8, TOP + (fnOf().before ? 42 : 27), colours.capacity, "right");
}

/* The smallest power of two of bytes, or 1, 2 or 5 times a power of ten of points, so far apart. */
function byteStep(lane) {
    let step = 1;
    while (step / (state.b1 - state.b0) * lane.height < 30) step *= 2;
    return step;
}

function pointStep() {
    const room = 24 + 7 * String(state.model.points).length;
    for (let decade = 1;; decade *= 10)
        for (const factor of [1, 2, 5])
            if (decade * factor / (state.x1 - state.x0) * geometry.plot >= room)
                return decade * factor;
}

function drawFrames() {
    for (const lane of geometry.lanes) {
        context.fillStyle = colours.lane;
        context.fillRect(LEFT, lane.top, geometry.plot, lane.height);
        const step = byteStep(lane);
        for (let byte = Math.ceil(state.b0 / step) * step; byte <= state.b1; byte += step) {
            const y = Math.round(yOf(lane, byte)) + .5;
            line(LEFT, y, LEFT + geometry.plot, y, colours.grid);
            if (y > lane.top + 4)
                text(bytesLabel(byte, step), LEFT - 8, y + 3, colours.faint, "right");
        }
        context.save();
        context.translate(12, lane.top + lane.height / 2);
        context.rotate(-Math.PI / 2);
        if (lane.height > 60)
            text(`partitions ${partitionsOf(lane.mask)}`, 0, 0, colours.faint, "center");
        context.restore();
    }
}

/* Around x, but within the plot. */
function textWithin(words, x, y) {
    const half = context.measureText(words).width / 2;
    text(
        words, Math.min(Math.max(x, LEFT + half), geometry.width - half - 2), y, colours.faint,
        "center");
}

function drawAxis() {
    const step = pointStep(), fn = fnOf(), foot = geometry.axis;
    for (let p = Math.ceil(state.x0 / step) * step; p < Math.min(state.x1, fn.insts.length);
         p += step) {
        const x = xOf(p + .5);
        if (x > LEFT + geometry.plot) break;
        for (const lane of geometry.lanes)
            line(x, lane.top, x, lane.top + lane.height, colours.grid);
        textWithin(number(p), x, foot);
        const where = fn.insts[p][1].replace(/.*\//, "");
        const room = Math.floor(step / (state.x1 - state.x0) * geometry.plot / 6.8);
        if (where)
            textWithin(where.length > room ? `${where.slice(0, room - 1)}…` : where, x, foot + 14);
    }
    text("point", LEFT - 8, foot, colours.faint, "right");
    text("line", LEFT - 8, foot + 14, colours.faint, "right");
}

function paint(colour, edge) {
    return PALETTE[colour][(dark ? 2 : 0) + (edge ? 1 : 0)];
}

/* Points [start, end) of one stripe: accesses less than some points apart are drawn as one. */
function stripeFrom(list, a, apart) {
    let end = list[a][0] + 1;
    for (;;) {
        const next = accessFrom(list, end + apart) - 1; /* the last that is near enough */
        if (list[next][0] < end) return end;
        end = list[next][0] + 1;
    }
}

/* Stripes of the full colour where a tensor is accessed; the rest is pale. */
function drawAccesses(rect, at, perPoint) {
    const all = state.model.accesses[rect[0]], several = fnOf().tensors[rect[0]].blocks > 1;
    const first = Math.min(...rect[6]), last = Math.max(...rect[6]);
    const list = several ? all.filter(access => access[1] <= last && access[2] >= first) : all;
    const from = Math.max(rect[2], Math.floor(state.x0));
    const to = Math.min(rect[3], Math.ceil(state.x1)), apart = Math.ceil(2 / perPoint) - 1;
    for (let a = accessFrom(list, from); a < list.length && list[a][0] <= to;) {
        const end = stripeFrom(list, a, apart);
        const left = Math.max(at.x, xOf(list[a][0])), right = Math.min(at.x + at.width, xOf(end));
        context.fillRect(left, at.y, Math.max(1, right - left), at.height);
        a = accessFrom(list, end);
    }
}

/* Pixels of a lane for what is too narrow to be drawn as a rectangle: a colour each. */
function makeRaster(lane) {
    const width = Math.max(1, Math.ceil(geometry.plot)),
          height = Math.max(1, Math.ceil(lane.height));
    return {width, height, cells: new Uint8Array(width * height), used: false};
}

/* Cells hold 1 + colour, and 16 more where what is there is not lit. */
function fillRaster(raster, x, y, foot, cell) {
    const column = Math.min(raster.width - 1, Math.max(0, Math.floor(x)));
    const first = Math.max(0, Math.floor(y)),
          end = Math.min(raster.height, Math.max(Math.ceil(foot), first + 1));
    for (let row = first, at = first * raster.width + column; row < end; row++, at += raster.width)
        if (raster.cells[at] === 0 || cell < 16) raster.cells[at] = cell;
    raster.used = true;
}

function showRaster(raster, lane) {
    if (!raster.used) return;
    const layer = new OffscreenCanvas(raster.width, raster.height), target = layer.getContext("2d");
    const image = target.createImageData(raster.width, raster.height);
    const pixels = new Uint32Array(image.data.buffer);
    const shades = new Uint32Array(32);
    for (let cell = 1; cell < 32; cell++) {
        const hex = parseInt(paint(Math.min((cell & 15) - 1 & 15, 11), false).slice(1), 16);
        const alpha = cell >= 16 ? 50 : 255;
        shades[cell] = alpha << 24 | (hex & 255) << 16 | (hex >> 8 & 255) << 8 | hex >> 16;
    }
    for (let i = 0; i < pixels.length; i++) pixels[i] = shades[raster.cells[i]];
    target.putImageData(image, 0, 0);
    context.drawImage(layer, LEFT, lane.top);
}

/* Draws what is in view. What is narrower than some pixels is mostly shorter than the rest and
 * lies over it. */
function drawLane(lane, visible, labels) {
    const raster = makeRaster(lane), perPoint = geometry.plot / (state.x1 - state.x0);
    const {tensor, first, last, low, high, mask, cell} = state.model.columns, lit = state.model.lit;
    const perByte = lane.height / (state.b1 - state.b0), bottom = lane.top + lane.height;
    const right = LEFT + geometry.plot;
    for (const r of visible) {
        if (!(mask[r] & lane.mask) || low[r] > state.b1 || high[r] < state.b0) continue;
        const left = LEFT + (first[r] - state.x0) * perPoint,
              wide = (last[r] + 1 - first[r]) * perPoint;
        const foot = bottom - (low[r] - state.b0) * perByte,
              top = bottom - (high[r] - state.b0) * perByte;
        if (wide < 2) {
            fillRaster(
                raster, left - LEFT, top - lane.top, foot - lane.top,
                cell[r] + (lit[tensor[r]] ? 0 : 16));
            continue;
        }
        const x = Math.max(LEFT, left), width = Math.max(.8, Math.min(right, left + wide) - x);
        drawRect(
            state.model.rects[r], {x, y: top, width, height: Math.max(foot - top, .8)}, perPoint,
            labels);
        state.drawn++;
    }
    showRaster(raster, lane);
}

function drawRect(rect, at, perPoint, labels) {
    const tensor = fnOf().tensors[rect[0]], lit = isLit(rect[0]);
    const fill = paint(
        state.model.colours[rect[0]], at.height < 1.5 && at.width > 10 && tensor.blocks === 1);
    const striped = at.height >= 3 && at.width >= 8 && (perPoint >= 2 || tensor.blocks === 1);
    context.fillStyle = colours.lane;
    context.globalAlpha = 1;
    if (striped) context.fillRect(at.x, at.y, at.width, at.height);
    context.fillStyle = fill;
    context.globalAlpha = (lit ? 1 : .2) * (striped ? .5 : 1);
    context.fillRect(at.x, at.y, at.width, at.height);
    context.globalAlpha = lit ? 1 : .2;
    if (striped) drawAccesses(rect, at, perPoint);
    if (at.width > 3 && at.height > 3) {
        const strong = lit && (state.root !== null || state.matches !== null);
        context.strokeStyle = strong ? colours.text : paint(state.model.colours[rect[0]], true);
        context.lineWidth = tensor.kinds.includes("pin") || rect[0] === state.tensor ? 2.5 : 1;
        context.setLineDash(tensor.kinds.includes("copy") ? [5, 3] : []);
        context.strokeRect(at.x + .5, at.y + .5, at.width - 1, at.height - 1);
        context.setLineDash([]);
        context.lineWidth = 1;
    }
    if (Math.min(at.height, at.width) >= 12 && Math.max(at.height, at.width) >= 26 && lit)
        labels.push([rect, at]);
    context.globalAlpha = 1;
}

/* The name that stands on a rectangle, cut to `room` letters: of a copy its original's rather than
 * a part of its own. */
function labelOf(rect, room) {
    const tensor = fnOf().tensors[rect[0]], blocks = blockNames(tensor, rect[6]);
    const whole = tensor.name + blocks;
    const name =
        whole.length > room && tensor.kinds.includes("copy") ? tensor.root + blocks : whole;
    return name.length > room ? `${name.slice(0, room - 1)}…` : name;
}

/* Names, those on top first; none over another. They stand upright where that holds more. */
function drawLabels(labels, lane) {
    const taken = [];
    context.font = "11px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace";
    const letter = context.measureText("m").width;
    for (let i = labels.length - 1; i >= 0 && taken.length < 2000; i--) {
        const [rect, at] = labels[i];
        const top = Math.max(at.y, lane.top);
        const high = Math.min(at.y + at.height, lane.top + lane.height) - top;
        const across = high < 12 ? 0 : Math.floor((at.width - 6) / letter);
        const along = at.width < 12 ? 0 : Math.floor((high - 6) / letter);
        const upright = across < along && labelOf(rect, across).endsWith("…");
        const room = upright ? along : across;
        if (room < 3) continue;
        const words = labelOf(rect, room), long = words.length * letter / 2 + 2;
        const x = at.x + at.width / 2, y = top + high / 2;
        const wide = upright ? 7 : long, half = upright ? long : 7;
        if (taken.some(b => Math.abs(x - b[0]) < wide + b[2] && Math.abs(y - b[1]) < half + b[3]))
            continue;
        taken.push([x, y, wide, half]);
        context.save();
        context.translate(x, y);
        if (upright) context.rotate(-Math.PI / 2);
        text(words, 0, 4, colours.text, "center");
        context.restore();
    }
    context.font = FONT;
}

function triangle(x, y, down, colour) {
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(x - 5, down ? y : y + 9);
    context.lineTo(x + 5, down ? y : y + 9);
    context.lineTo(x, down ? y + 9 : y);
    context.fill();
}

const dmaColour = kind => kind & 4 ? colours.spill : kind & 8 ? colours.reload : colours.dma;

/* DMAs of one direction that share some pixels are drawn once, those of spilling before others. */
function drawDmas() {
    const fn = fnOf(), best = new Map();
    const first = Math.max(0, Math.floor(state.x0)),
          end = Math.min(fn.insts.length, Math.ceil(state.x1));
    for (let p = first; p < end; p++) {
        const kind = fn.insts[p][2], direction = kind & 3;
        if (direction !== 1 && direction !== 2) continue;
        const lit = state.root === null || touches(p);
        const key = direction + 4 * Math.floor(xOf(p + .5) / 4), old = best.get(key);
        const weight = (lit ? 100 : 0) + kind;
        if (!old || old[1] < weight) best.set(key, [p, weight, lit]);
    }
    for (const [p, , lit] of best.values()) {
        const kind = fn.insts[p][2], out = (kind & 3) === 2;
        context.globalAlpha = lit ? 1 : .2;
        triangle(xOf(p + .5), geometry.dma + (out ? DMA_ROW : 0), out, dmaColour(kind));
    }
    context.globalAlpha = 1;
    text("from DRAM", LEFT - 8, geometry.dma + 9, colours.faint, "right");
    text("to DRAM", LEFT - 8, geometry.dma + DMA_ROW + 9, colours.faint, "right");
}

/* True if an instruction names something of what is selected. */
function touches(point) {
    const operands = fnOf().insts[point][3];
    for (let o = 0; o < operands.length; o += 4)
        if (fnOf().tensors[operands[o]].root === state.root) return true;
    return false;
}

function drawLoops() {
    const free = new Array(state.model.loopRows).fill(-1);
    for (const [name, low, high, first, end, depth] of fnOf().loops) {
        if (depth >= free.length || end < state.x0 || first > state.x1) continue;
        const x = Math.max(LEFT, xOf(first)) + 1,
              right = Math.min(LEFT + geometry.plot, xOf(end)) - 1;
        if (right < free[depth] + 1) continue;
        free[depth] = right;
        const y = geometry.loops + depth * LOOP_ROW;
        context.strokeStyle = colours.faint;
        context.beginPath();
        context.moveTo(x, y);
        context.lineTo(x, y + 4);
        context.lineTo(Math.max(right, x + 1), y + 4);
        context.lineTo(Math.max(right, x + 1), y);
        context.stroke();
        const words = [`${name} = ${low}..${high}`, `${name} ×${high - low}`].find(
            choice => context.measureText(choice).width < right - x);
        if (words) text(words, (x + right) / 2, y + 14, colours.faint, "center");
    }
    if (free.length) text("loops", LEFT - 8, geometry.loops + 10, colours.faint, "right");
}

/* Where what is selected is in DRAM alone: between its copies. */
function drawGaps() {
    if (state.root === null) return;
    const copies = state.model.rects.filter(
        rect => fnOf().tensors[rect[0]].root === state.root &&
            fnOf().tensors[rect[0]].kinds.includes("copy"));
    copies.sort((a, b) => a[2] - b[2]);
    const middle = rect =>
        yOf(geometry.lanes.find(lane => lane.mask & rect[5]),
            rect[4] + fnOf().tensors[rect[0]].bytes / 2);
    context.save();
    context.beginPath();
    context.rect(LEFT, geometry.lanes[0].top, geometry.plot, geometry.foot - geometry.lanes[0].top);
    context.clip();
    for (let i = 1; i < copies.length; i++)
        if (copies[i][2] > copies[i - 1][3])
            line(
                xOf(copies[i - 1][3] + 1), middle(copies[i - 1]), xOf(copies[i][2]),
                middle(copies[i]), colours.spill, [4, 4]);
    context.restore();
}

/* What is free but not the largest stretch of its point. */
function drawHoles(lane) {
    if (geometry.plot / (state.x1 - state.x0) < 3) return;
    context.fillStyle = colours.faint;
    context.globalAlpha = .16;
    const end = Math.min(state.model.points, Math.ceil(state.x1));
    for (let point = Math.max(0, Math.floor(state.x0)); point < end; point++) {
        const free = freeAt(point, lane.mask), largest = largestOf(free);
        const x = Math.round(xOf(point)), width = Math.round(xOf(point + 1)) - x;
        for (const stretch of free) {
            if (stretch[0] === largest[0]) continue;
            const y = yOf(lane, stretch[1]);
            context.fillRect(x, y, width, yOf(lane, stretch[0]) - y);
        }
    }
    context.globalAlpha = 1;
}

const FONT = "11px system-ui, 'DejaVu Sans', sans-serif";

function draw() {
    layOut();
    context.fillStyle = colours.page;
    context.fillRect(0, 0, geometry.width, geometry.height);
    context.font = FONT;
    context.lineWidth = 1;
    state.drawn = 0;
    drawPressure();
    drawFrames();
    const visible = rectsAt(state.model, Math.floor(state.x0), Math.ceil(state.x1));
    for (const lane of geometry.lanes) {
        const labels = [];
        context.save();
        context.beginPath();
        context.rect(LEFT, lane.top, geometry.plot, lane.height);
        context.clip();
        drawHoles(lane);
        drawLane(lane, visible, labels);
        const capacity = yOf(lane, DATA.usable);
        line(LEFT, capacity, LEFT + geometry.plot, capacity, colours.capacity, [8, 4]);
        drawLabels(labels, lane);
        context.restore();
        context.strokeStyle = colours.frame;
        context.strokeRect(LEFT + .5, lane.top + .5, geometry.plot - 1, lane.height - 1);
    }
    drawGaps();
    drawAxis();
    drawDmas();
    drawLoops();
    canvas.setAttribute(
        "aria-label", `@${fnOf().name}: ${count(state.model.rects.length, "rectangle")}`);
}

function drawCursor() {
    above.clearRect(0, 0, geometry.width, geometry.height);
    const foot = geometry.dma + 2 * DMA_ROW;
    if (state.model.points > 0 && state.cursor + 1 > state.x0 && state.cursor < state.x1) {
        const x = Math.max(LEFT, xOf(state.cursor));
        const width = Math.max(1, Math.min(LEFT + geometry.plot, xOf(state.cursor + 1)) - x);
        above.fillStyle = colours.cursor;
        above.globalAlpha = width > 3 ? .1 : .6;
        above.fillRect(x, TOP, width, foot - TOP);
    }
    if (box) {
        above.fillStyle = colours.need;
        above.globalAlpha = .2;
        above.fillRect(
            Math.min(box.from, box.to), TOP, Math.abs(box.to - box.from), geometry.foot - TOP);
    }
    above.globalAlpha = 1;
}
