// The map of the codes: zoom, pan, the nearest row, and the decoder at any point.

function startMap() {
  const [x0, x1, y0, y1] = data.map.range;
  const canvas = find('map-canvas');
  const world = (level, low, high) => low + (level / 65535) * (high - low);
  const xs = Float64Array.from(u16(data.map.x), (v) => world(v, x0, x1));
  const ys = Float64Array.from(u16(data.map.y), (v) => world(v, y0, y1));
  const classOf = (i) => (labelled ? rows.classes[i] : 0);
  const present = labelled ? [...new Set(rows.classes)].sort((a, b) => a - b) : [];
  const hidden = new Set();
  const visible = (i) => !labelled || !hidden.has(rows.classes[i]);

  if (features) document.querySelector('.map').classList.add('wide-side');
  const decoded = makeView(find('decoded'), [pictures ? '' : 'decoded']);
  const nearest = makeView(find('row'), ['row', 'from its code']);

  // The middle of what is shown, and how many times larger than the whole.
  const view = { x: (x0 + x1) / 2, y: (y0 + y1) / 2, zoom: 1 };
  const cross = { x: view.x, y: view.y };
  let chosen = -1;
  let size = { width: 1, height: 1 };
  // A unit is as long across as down, since distances are what a map is for.
  const unit = () => view.zoom * Math.min(size.width / (x1 - x0), size.height / (y1 - y0));
  const toScreen = (x, y) => [size.width / 2 + (x - view.x) * unit(), size.height / 2 - (y - view.y) * unit()];
  const toWorld = (px, py) => [view.x + (px - size.width / 2) / unit(), view.y - (py - size.height / 2) / unit()];

  // The decoder at a point, from the four decoded points around it.
  function decodedAt(x, y) {
    const side = data.map.side;
    const along = (v, low, high) => Math.min(Math.max((v - low) / (high - low), 0), 1) * (side - 1);
    const [gx, gy] = [along(x, x0, x1), along(y, y0, y1)];
    const [i, j] = [Math.min(Math.floor(gx), side - 2), Math.min(Math.floor(gy), side - 2)];
    const [u, v] = [gx - i, gy - j];
    const at = (a, b) => (j + b) * side + i + a;
    return {
      sheet: data.map.grid,
      places: [[at(0, 0), (1 - u) * (1 - v)], [at(1, 0), u * (1 - v)], [at(0, 1), (1 - u) * v], [at(1, 1), u * v]],
    };
  }

  function nearestTo(x, y, within) {
    let [best, least] = [-1, within * within];
    for (let i = 0; i < rows.count; i += 1) {
      if (!visible(i)) continue;
      const d = (xs[i] - x) ** 2 + (ys[i] - y) ** 2;
      if (d < least) [best, least] = [i, d];
    }
    return best;
  }

  function choose(i) {
    if (i < 0 || i === chosen) return;
    chosen = i;
    nearest.show([sample(data.rows.original, i), sample(data.rows.restored, i)]);
    find('row-text').textContent = `${rowName(i)}; ${partOf(i)} row, squared error ${short(rows.errors[i])}`;
  }

  function pointAt(x, y) {
    [cross.x, cross.y] = [x, y];
    decoded.show([decodedAt(x, y)]);
    choose(nearestTo(x, y, 16 / unit()));
    draw();
  }

  // Names of classes at the medians of their rows, moved apart where they would overlap.
  function nameClasses(context) {
    context.font = `700 14px ${colour('typeface')}`;
    const placed = [];
    for (const k of present.filter((c) => !hidden.has(c))) {
      const own = [...Array(rows.count).keys()].filter((i) => rows.classes[i] === k);
      const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
      const [mx, my] = toScreen(median(own.map((i) => xs[i])), median(own.map((i) => ys[i])));
      if (mx < 0 || my < 0 || mx > size.width || my > size.height) continue;
      const name = data.classes[k].length > 18 ? `${data.classes[k].slice(0, 17)}…` : data.classes[k];
      const half = context.measureText(name).width / 2 + 9;
      let [x, y] = [mx, my];
      const free = () => placed.every((p) => Math.abs(p.x - x) >= p.half + half + 4 || Math.abs(p.y - y) >= 19);
      for (let turn = 0; turn < 400 && !free(); turn += 1) {
        const [r, angle] = [turn / 4, turn * 0.9];
        [x, y] = [mx + r * Math.cos(angle), my + r * Math.sin(angle)];
      }
      x = Math.min(Math.max(x, half + 2), size.width - half - 2);
      placed.push({ x, y, half });
      // On a chip of paper, so that marks behind it do not show through.
      context.globalAlpha = 0.85;
      context.fillStyle = colour('paper');
      context.beginPath();
      context.roundRect(x - half - 3, y - 10, 2 * half + 4, 20, 6);
      context.fill();
      context.globalAlpha = 1;
      mark(context, k, x - half + 6, y, 5);
      context.textAlign = 'left';
      context.textBaseline = 'middle';
      context.fillStyle = colour(`ink-${k % 12}`);
      context.fillText(name, x - half + 15, y);
    }
  }

  function mark(context, k, x, y, radius, fill = classColour(k)) {
    context.save();
    context.translate(x, y);
    context.scale(radius / 10, radius / 10);
    context.fillStyle = fill;
    context.fill(shapes[k]);
    context.restore();
  }

  function draw() {
    const { context, width, height } = sharp(canvas);
    size = { width, height };
    const radius = Math.min(6, (rows.count > 1500 ? 2.6 : 3.2) * Math.sqrt(Math.sqrt(view.zoom)) + 0.4);
    const fills = Array.from({ length: 12 }, (_, k) => classColour(k));
    context.globalAlpha = rows.count > 300 ? 0.7 : 0.9;
    for (let i = 0; i < rows.count; i += 1) {
      if (!visible(i)) continue;
      const [px, py] = toScreen(xs[i], ys[i]);
      if (px < -8 || py < -8 || px > width + 8 || py > height + 8) continue;
      mark(context, classOf(i), px, py, radius, fills[classOf(i) % 12]);
    }
    context.globalAlpha = 1;
    nameClasses(context);
    if (chosen >= 0) {
      const [px, py] = toScreen(xs[chosen], ys[chosen]);
      context.strokeStyle = colour('ink');
      context.lineWidth = 2;
      context.beginPath();
      context.arc(px, py, radius + 5, 0, 2 * Math.PI);
      context.stroke();
    }
    const [cx, cy] = toScreen(cross.x, cross.y);
    context.strokeStyle = colour('ink');
    context.lineWidth = 1.2;
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(cx + 4 * dx, cy + 4 * dy);
      context.lineTo(cx + 13 * dx, cy + 13 * dy);
    }
    context.stroke();
    // For whoever asks where the map is, as tests do.
    canvas.dataset.zoom = view.zoom.toFixed(4);
    canvas.dataset.middle = `${view.x.toFixed(4)} ${view.y.toFixed(4)}`;
  }

  // Zooms so that the point under (px, py) stays where it is.
  function zoomBy(factor, px = size.width / 2, py = size.height / 2) {
    const [x, y] = toWorld(px, py);
    view.zoom = Math.min(Math.max(view.zoom * factor, 0.8), 60);
    const [nx, ny] = toWorld(px, py);
    view.x += x - nx;
    view.y += y - ny;
    draw();
  }
  function pan(dx, dy) {
    view.x = Math.min(Math.max(view.x - dx / unit(), x0), x1);
    view.y = Math.min(Math.max(view.y + dy / unit(), y0), y1);
    draw();
  }
  function reset() {
    [view.x, view.y, view.zoom] = [(x0 + x1) / 2, (y0 + y1) / 2, 1];
    draw();
  }

  // Pointers: one moves the cross or, pressed, the map; two zoom and move it.
  const held = new Map();
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  canvas.addEventListener('pointerdown', (event) => {
    held.set(event.pointerId, place(event));
    try {
      canvas.setPointerCapture(event.pointerId);
    } catch {
      // The pointer is gone already: there is nothing to capture.
    }
    if (event.pointerType !== 'mouse') pointAt(...toWorld(...place(event)));
  });
  canvas.addEventListener('pointermove', (event) => {
    const now = place(event);
    const before = held.get(event.pointerId);
    if (before && held.size === 2) {
      const other = [...held].find(([id]) => id !== event.pointerId)[1];
      const span = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
      zoomBy(span(now, other) / span(before, other), other[0], other[1]);
    } else if (before && event.pointerType === 'mouse') {
      pan(now[0] - before[0], now[1] - before[1]);
    } else {
      pointAt(...toWorld(...now));
    }
    if (before) held.set(event.pointerId, now);
  });
  for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, (event) => held.delete(event.pointerId));
  canvas.addEventListener('dblclick', (event) => zoomBy(event.shiftKey ? 0.5 : 2, ...place(event)));
  canvas.addEventListener('wheel', (event) => {
    // Scrolling past the map must not get caught in it: the wheel is the map's once it was clicked.
    if (document.activeElement !== canvas && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoomBy(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0016)), ...place(event));
  }, { passive: false });

  function step(by) {
    for (let k = 1; k <= rows.count; k += 1) {
      const i = (((chosen < 0 ? -by : chosen) + by * k) % rows.count + rows.count) % rows.count;
      if (visible(i)) return goTo(i);
    }
    return undefined;
  }
  function goTo(i) {
    const [px, py] = toScreen(xs[i], ys[i]);
    if (px < 0 || py < 0 || px > size.width || py > size.height) [view.x, view.y] = [xs[i], ys[i]];
    choose(i);
    [cross.x, cross.y] = [xs[i], ys[i]];
    decoded.show([decodedAt(xs[i], ys[i])]);
    draw();
  }
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const keys = { '+': () => zoomBy(1.4), '=': () => zoomBy(1.4), '-': () => zoomBy(1 / 1.4), '_': () => zoomBy(1 / 1.4), 0: reset };
    const letters = { n: () => step(1), p: () => step(-1) };
    const arrow = arrows[event.key];
    const action = keys[event.key] || letters[event.key.toLowerCase()];
    if (arrow && event.shiftKey) pan(-60 * arrow[0], 60 * arrow[1]);
    else if (arrow) pointAt(cross.x + (10 * arrow[0]) / unit(), cross.y + (10 * arrow[1]) / unit());
    else if (action) action();
    else return;
    event.preventDefault();
  });
  find('zoom-in').addEventListener('click', () => zoomBy(1.6));
  find('zoom-out').addEventListener('click', () => zoomBy(1 / 1.6));
  find('zoom-reset').addEventListener('click', reset);

  // The legend: each class can be switched off, and all at once.
  const legend = find('legend');
  const buttons = [];
  const update = () => {
    buttons.forEach(([k, button]) => button.setAttribute('aria-pressed', String(!hidden.has(k))));
    draw();
  };
  for (const k of present) {
    const button = legend.appendChild(make('button'));
    button.type = 'button';
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('viewBox', '-18 -18 36 36');
    svg.setAttribute('width', '18');
    svg.setAttribute('height', '18');
    svg.setAttribute('aria-hidden', 'true');
    const path = svg.appendChild(document.createElementNS('http://www.w3.org/2000/svg', 'path'));
    path.setAttribute('d', data.shapes[k]);
    path.style.fill = `var(--class-${k % 12})`;
    const count = rows.classes.reduce((sum, c) => sum + (c === k ? 1 : 0), 0);
    button.append(svg, make('span', '', data.classes[k]), make('small', '', count));
    button.title = data.classes[k];
    button.addEventListener('click', () => {
      if (!hidden.delete(k)) hidden.add(k);
      update();
    });
    buttons.push([k, button]);
  }
  if (present.length > 1) {
    const all = legend.appendChild(make('button', 'all', 'all'));
    const none = legend.appendChild(make('button', 'none', 'none'));
    [all.type, none.type] = ['button', 'button'];
    all.addEventListener('click', () => { hidden.clear(); update(); });
    none.addEventListener('click', () => { present.forEach((k) => hidden.add(k)); update(); });
  }

  reveal('map');
  redraw.push(draw);
  new ResizeObserver(draw).observe(canvas);
  update();
  goTo(0);
  return { goTo };
}
