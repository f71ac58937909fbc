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

  function nearestTo(x, y) {
    let [best, least] = [-1, Infinity];
    for (let i = 0; i < rows.count; i += 1) {
      if (!visible(i)) continue;
      const d = (xs[i] - x) ** 2 + (ys[i] - y) ** 2;
      if (d < least) [best, least] = [i, d];
    }
    return best;
  }

  // Shows a row; -1 when no class is switched on.
  function choose(i) {
    if (i === chosen) return;
    chosen = i;
    find('row').hidden = i < 0;
    if (i >= 0) nearest.show([sample(data.rows.original, i), sample(data.rows.restored, i)]);
    find('row-text').textContent = i < 0 ? 'All classes are switched off.'
      : `${rowName(i)}; ${partOf(i)} row, squared error ${short(rows.errors[i])}${asSeen}`;
  }

  function decodeAt(x, y) {
    [cross.x, cross.y] = [x, y];
    decoded.show([decodedAt(x, y)]);
    // A little beyond is a matter of rounding.
    const beyond = (v, low, high) => Math.max(low - v, v - high) > 0.001 * (high - low);
    find('decoded-text').hidden = !beyond(x, x0, x1) && !beyond(y, y0, y1);
  }

  function pointAt(x, y) {
    decodeAt(x, y);
    choose(nearestTo(x, y));
    draw();
  }

  // The median of each class's rows, where its name stands; classes of more rows first.
  const middles = present.map((k) => {
    const own = [...Array(rows.count).keys()].filter((i) => rows.classes[i] === k);
    const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
    return { k, count: own.length, x: median(own.map((i) => xs[i])), y: median(own.map((i) => ys[i])) };
  }).sort((a, b) => b.count - a.count || a.k - b.k);
  const switchNames = find('map-names');

  // A long name is cut at its end, or in its middle where another begins with the same letters.
  const cut = (name) => (name.length > 18 ? `${name.slice(0, 17)}…` : name);
  const briefly = data.classes.map((name, k) => (name.length > 18 && data.classes.some((other, j) => j !== k && cut(other) === cut(name))
    ? `${name.slice(0, 7)}…${name.slice(-10)}` : cut(name)));

  // Names of classes above the medians of their rows, moved a little where they would overlap, left out where that is not
  // enough: with many classes they would hide the rows, and the legend has them all.
  function nameClasses(context) {
    canvas.dataset.names = 0;
    if (!switchNames.checked) return;
    context.font = `700 14px ${colour('typeface')}`;
    // The buttons over the map have their place; nothing is named under them.
    const [over, own] = [document.querySelector('.zoom').getBoundingClientRect(), canvas.getBoundingClientRect()];
    const reserved = {
      x: over.x - own.x + over.width / 2, y: over.y - own.y + over.height / 2, half: over.width / 2, tall: over.height / 2 + 11,
    };
    const placed = [reserved];
    let covered = 0;
    for (const { k, x: wx, y: wy } of middles) {
      const [mx, my] = toScreen(wx, wy);
      if (hidden.has(k) || mx < 0 || my < 0 || mx > size.width || my > size.height) continue;
      const name = briefly[k];
      const half = context.measureText(name).width / 2 + 9;
      const inside = (v, rim, end) => Math.min(Math.max(v, rim + 2), end - rim - 2);
      let [x, y, free] = [mx, my, false];
      for (let turn = 0; turn < 240 && !free; turn += 1) {
        const [r, angle] = [turn / 3, turn * 0.9];
        [x, y] = [inside(mx + r * Math.cos(angle), half, size.width), inside(my - 16 + r * Math.sin(angle), 10, size.height)];
        free = placed.every((p) => Math.abs(p.x - x) >= p.half + half + 4 || Math.abs(p.y - y) >= p.tall);
      }
      // A tenth of the map is enough for names.
      if (!free || covered + 40 * half > (size.width * size.height) / 10) continue;
      covered += 40 * half;
      placed.push({ x, y, half, tall: 21, k });
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
    canvas.dataset.names = placed.length - 1;
    canvas.dataset.named = JSON.stringify(placed.slice(1).map((p) => [p.x - p.half, p.y - 10, 2 * p.half, 20]));
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
    context.strokeStyle = colour('ink');
    const [cx, cy] = toScreen(cross.x, cross.y);
    if (chosen >= 0) {
      const [px, py] = toScreen(xs[chosen], ys[chosen]);
      context.lineWidth = 2;
      context.beginPath();
      context.arc(px, py, radius + 5, 0, 2 * Math.PI);
      context.stroke();
      // The nearest row may be far from the cross: a line leads to it.
      const far = Math.hypot(px - cx, py - cy);
      const from = 17 / far;
      const to = 1 - (radius + 7) / far;
      if (from < to) {
        context.lineWidth = 1;
        context.setLineDash([2, 4]);
        context.beginPath();
        context.moveTo(cx + from * (px - cx), cy + from * (py - cy));
        context.lineTo(cx + to * (px - cx), cy + to * (py - cy));
        context.stroke();
        context.setLineDash([]);
      }
    }
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
    canvas.dataset.cross = `${cx.toFixed(1)} ${cy.toFixed(1)}`;
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
    if (event.pointerType !== 'mouse' && held.size === 1) pointAt(...toWorld(...place(event)));
  });
  canvas.addEventListener('pointermove', (event) => {
    const now = place(event);
    const before = held.get(event.pointerId);
    if (before && held.size === 2) {
      const other = [...held].find(([id]) => id !== event.pointerId)[1];
      const span = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
      zoomBy(span(now, other) / span(before, other), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
      // The point between the fingers goes along with them.
      pan((now[0] - before[0]) / 2, (now[1] - before[1]) / 2);
    } else if (before && event.pointerType === 'mouse') {
      pan(now[0] - before[0], now[1] - before[1]);
    } else {
      pointAt(...toWorld(...now));
    }
    if (before) held.set(event.pointerId, now);
  });
  for (const end of ['pointerup', 'pointercancel']) canvas.addEventListener(end, (event) => held.delete(event.pointerId));
  // One finger scrolls the page past the map; two are the map's.
  for (const name of ['touchstart', 'touchmove']) {
    canvas.addEventListener(name, (event) => {
      if (event.touches.length > 1 && event.cancelable) event.preventDefault();
    }, { passive: false });
  }
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
    // A row of a class that is switched off could not be seen.
    if (!visible(i)) {
      hidden.delete(rows.classes[i]);
      press();
    }
    const [px, py] = toScreen(xs[i], ys[i]);
    if (px < 0 || py < 0 || px > size.width || py > size.height) [view.x, view.y] = [xs[i], ys[i]];
    choose(i);
    decodeAt(xs[i], ys[i]);
    draw();
  }

  // With keys the cross is the pointer: it stays in the part that is shown, and zooming keeps it where it is.
  const rim = 6;
  const kept = (v, end) => Math.min(Math.max(v, rim), end - rim);
  function keepCross() {
    const [px, py] = toScreen(cross.x, cross.y);
    const [nx, ny] = [kept(px, size.width), kept(py, size.height)];
    if (px !== nx || py !== ny) pointAt(...toWorld(nx, ny));
  }
  function moveCross(dx, dy) {
    const [px, py] = toScreen(cross.x, cross.y);
    const [nx, ny] = [px + dx, py + dy];
    // At the rim the map goes along.
    pan(kept(nx, size.width) - nx, kept(ny, size.height) - ny);
    pointAt(...toWorld(kept(nx, size.width), kept(ny, size.height)));
  }
  function keyZoom(factor) {
    keepCross();
    zoomBy(factor, ...toScreen(cross.x, cross.y));
  }
  canvas.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const keys = {
      '+': () => keyZoom(1.4), '=': () => keyZoom(1.4), '-': () => keyZoom(1 / 1.4), _: () => keyZoom(1 / 1.4),
      0: () => { reset(); keepCross(); },
    };
    const letters = { n: () => step(1), p: () => step(-1) };
    const arrow = arrows[event.key];
    const action = keys[event.key] || letters[event.key.toLowerCase()];
    if (arrow && event.shiftKey) {
      pan(-60 * arrow[0], -60 * arrow[1]);
      keepCross();
    } else if (arrow) moveCross(10 * arrow[0], 10 * arrow[1]);
    else if (action) action();
    else return;
    event.preventDefault();
  });
  find('zoom-in').addEventListener('click', () => zoomBy(1.6));
  find('zoom-out').addEventListener('click', () => zoomBy(1 / 1.6));
  find('zoom-reset').addEventListener('click', reset);
  switchNames.addEventListener('change', draw);

  // The legend: all classes at once, and each by itself, `class 2` before `class 10`.
  const legend = find('legend');
  const buttons = [];
  const press = () => buttons.forEach(([k, button]) => button.setAttribute('aria-pressed', String(!hidden.has(k))));
  const update = () => {
    press();
    choose(nearestTo(cross.x, cross.y));
    draw();
  };
  find('legend-tools').hidden = present.length < 2;
  find('legend-all').addEventListener('click', () => { hidden.clear(); update(); });
  find('legend-none').addEventListener('click', () => { present.forEach((k) => hidden.add(k)); update(); });
  const { compare } = new Intl.Collator('en', { numeric: true });
  // Classes that are numbers come in their order.
  const numbers = present.every((k) => Number.isFinite(parseFloat(data.classes[k])));
  for (const k of numbers ? present : [...present].sort((a, b) => compare(data.classes[a], data.classes[b]) || a - b)) {
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
    const { count } = middles.find((middle) => middle.k === k);
    button.append(svg, make('span', '', data.classes[k]), make('small', '', count));
    button.title = data.classes[k];
    button.addEventListener('click', () => {
      if (!hidden.delete(k)) hidden.add(k);
      update();
    });
    buttons.push([k, button]);
  }

  reveal('map');
  redraw.push(draw);
  new ResizeObserver(draw).observe(canvas);
  update();
  goTo(0);
  return { goTo };
}
