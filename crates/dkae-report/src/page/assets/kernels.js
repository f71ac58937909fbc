// Both kernels side by side: the pair of rows under the pointer, and both values.

function startKernels() {
  const { rows: order, groups, scale, prior, codes, sheet } = data.kernels;
  const n = order.length;
  const open = (triangle) => ({ ...triangle, values: f32(triangle.values) });
  const kernels = [
    { canvas: find('kernel-prior'), name: 'Prior', ...open(prior) },
    { canvas: find('kernel-codes'), name: 'Codes', ...open(codes) },
  ];
  const entry = (kernel, i, j) => {
    const [a, b] = [Math.max(i, j), Math.min(i, j)];
    return kernel.values[(a * (a + 1)) / 2 + b];
  };
  // A kernel of nothing but zeros has no unit.
  const inUnits = (kernel, value) => (kernel.rms > 0 ? value / kernel.rms : 0);
  const view = makeView(find('kernel-view'), ['one row', 'the other']);
  let at = [Math.floor(n / 3), Math.floor(n / 4)];

  // Low is the paper's colour: light on a light screen, dark on a dark one.
  const lookup = () => {
    const list = data.colours.match(/.{6}/g).map((hex) => [0, 2, 4].map((c) => parseInt(hex.slice(c, c + 2), 16)));
    return dark.matches ? list.reverse() : list;
  };

  const margin = 4;
  function draw() {
    const colours = lookup();
    for (const kernel of kernels) {
      const small = make('canvas');
      [small.width, small.height] = [n, n];
      const context = small.getContext('2d');
      const image = context.createImageData(n, n);
      for (let i = 0; i < n; i += 1) {
        for (let j = 0; j < n; j += 1) {
          const share = (inUnits(kernel, entry(kernel, i, j)) - scale[0]) / (scale[1] - scale[0]);
          const rgb = colours[Math.round(255 * Math.min(Math.max(share, 0), 1))];
          image.data.set([...rgb, 255], 4 * (i * n + j));
        }
      }
      context.putImageData(image, 0, 0);
      kernel.image = small;
      // As high as the square beside the names.
      const width = kernel.canvas.clientWidth;
      kernel.canvas.style.aspectRatio = `${width} / ${width - nameWidth(kernel.canvas.getContext('2d')) + margin}`;
    }
    mark();
    drawScale(colours);
  }

  // Room for the groups' names on the left.
  const nameWidth = (context) => {
    context.font = `12px ${colour('typeface')}`;
    return Math.min(90, Math.max(...groups.map(([name]) => context.measureText(name).width))) + 8;
  };
  const frame = (context, width) => {
    const left = nameWidth(context);
    return { left, top: margin, side: width - left - margin };
  };

  function mark() {
    for (const kernel of kernels) {
      const { context, width } = sharp(kernel.canvas);
      const { left, top, side } = frame(context, width);
      kernel.frame = { left, top, side };
      context.imageSmoothingEnabled = side < n;
      context.drawImage(kernel.image, left, top, side, side);
      context.strokeStyle = colour('axis');
      context.lineWidth = 0.5;
      context.strokeRect(left, top, side, side);
      let [done, last] = [0, -99];
      context.fillStyle = colour('ink');
      context.textAlign = 'right';
      context.textBaseline = 'middle';
      for (const [name, count] of groups) {
        const [start, end] = [(done / n) * side, ((done + count) / n) * side];
        done += count;
        context.beginPath();
        context.moveTo(left, top + end);
        context.lineTo(left + side, top + end);
        context.moveTo(left + end, top);
        context.lineTo(left + end, top + side);
        context.stroke();
        const middle = (start + end) / 2;
        if (middle - last < 11) continue;
        last = middle;
        // A long name is cut at its end, or in its middle where another begins with the same letters.
        const alike = groups.some(([other]) => other !== name && other.slice(0, 8) === name.slice(0, 8));
        let [shown, kept] = [name, name.length];
        while (kept > 1 && context.measureText(shown).width > left - 6) {
          kept -= 1;
          const head = alike ? Math.floor(0.4 * kept) : kept;
          shown = `${name.slice(0, head)}…${name.slice(name.length - kept + head)}`;
        }
        context.fillText(shown, left - 6, top + middle);
      }
      const cell = side / n;
      const [y, x] = [top + (at[0] + 0.5) * cell, left + (at[1] + 0.5) * cell];
      for (const [style, thick] of [[colour('paper'), 4], [colour('ink'), 1.6]]) {
        context.strokeStyle = style;
        context.lineWidth = thick;
        context.strokeRect(x - Math.max(cell, 9) / 2, y - Math.max(cell, 9) / 2, Math.max(cell, 9), Math.max(cell, 9));
      }
    }
  }

  function drawScale(colours) {
    const { context, width } = sharp(find('kernel-scale'));
    const inner = width - 2;
    colours.forEach(([r, g, b], i) => {
      context.fillStyle = `rgb(${r},${g},${b})`;
      context.fillRect(1 + (i / 256) * inner, 2, inner / 256 + 1, 12);
    });
    context.strokeStyle = colour('axis');
    context.strokeRect(1, 2, inner, 12);
    context.fillStyle = colour('muted');
    context.font = `12px ${colour('typeface')}`;
    context.textBaseline = 'top';
    context.textAlign = 'left';
    context.fillText(`≤ ${short(scale[0])}`, 1, 19);
    context.textAlign = 'center';
    context.fillText('entry / RMS', width / 2, 19);
    context.textAlign = 'right';
    context.fillText(`≥ ${short(scale[1])}`, width - 1, 19);
  }

  function show(i, j) {
    at = [i, j].map((v) => Math.min(Math.max(v, 0), n - 1));
    const [a, b] = at.map((place) => order[place]);
    view.show(sheet === null ? [a, b].map((row) => sample(data.rows.original, row)) : at.map((place) => sample(sheet, place)));
    const values = kernels.map((kernel) => {
      const value = entry(kernel, at[0], at[1]);
      return `${kernel.name}: ${short(value)} (${fixed(inUnits(kernel, value), 2)} × RMS)`;
    });
    const groupless = labelled ? '' : '\n(no classes: rows are sorted by cluster)';
    find('kernel-text').textContent = `${rowName(a)} and ${rowName(b)}\n${values.join('\n')}${groupless}`;
    mark();
  }

  for (const kernel of kernels) {
    const locate = (event) => {
      const box = kernel.canvas.getBoundingClientRect();
      const { left, top, side } = kernel.frame;
      const place = (v) => Math.floor((v / side) * n);
      show(place(event.clientY - box.top - top), place(event.clientX - box.left - left));
    };
    kernel.canvas.addEventListener('pointermove', locate);
    kernel.canvas.addEventListener('pointerdown', locate);
    kernel.canvas.addEventListener('keydown', (event) => {
      const arrows = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      const arrow = arrows[event.key];
      if (!arrow) return;
      event.preventDefault();
      const far = event.shiftKey ? 10 : 1;
      show(at[0] + far * arrow[0], at[1] + far * arrow[1]);
    });
  }
  reveal('kernels');
  redraw.push(draw);
  new ResizeObserver(draw).observe(kernels[0].canvas);
  draw();
  show(...at);
}
