// Walks, denoising and the rows to look at next.

function startWalks() {
  const { names, steps, sheet } = data.walks;
  const [from, to, slider, place] = ['walk-from', 'walk-to', 'walk-step', 'walk-place'].map(find);
  for (const select of [from, to]) names.forEach((name, k) => select.add(new Option(name, k)));
  [from.value, to.value] = [0, 1];
  slider.max = steps - 1;
  slider.value = Math.floor((steps - 1) / 2);
  const view = makeView(find('walk-view'), ['from', 'here', 'to']);
  const strip = find('walk-strip');
  const k = names.length;
  // Walks are stored for pairs i < j in order; the other way is the same walk backwards.
  const sampleAt = (step) => {
    const [a, b] = [Number(from.value), Number(to.value)];
    const [i, j] = [Math.min(a, b), Math.max(a, b)];
    const pair = i * k - (i * (i + 1)) / 2 + (j - i - 1);
    return sample(sheet, pair * steps + (a < b ? step : steps - 1 - step));
  };
  const small = pictures ? Array.from({ length: steps }, (_, step) => {
    const button = strip.appendChild(make('button'));
    button.type = 'button';
    button.setAttribute('aria-label', `Step ${step + 1} of ${steps}`);
    button.addEventListener('click', () => { slider.value = step; show(); });
    return [button, button.appendChild(pictureCanvas(''))];
  }) : [];
  function show() {
    const step = Number(slider.value);
    view.show([sampleAt(0), sampleAt(step), sampleAt(steps - 1)]);
    place.textContent = `${Math.round((100 * step) / (steps - 1))} % of the way`;
    slider.setAttribute('aria-valuetext', place.textContent);
    small.forEach(([button, canvas], i) => {
      button.setAttribute('aria-current', String(i === step));
      paint(canvas, sampleAt(i));
    });
  }
  const changed = (one, other) => one.addEventListener('change', () => {
    // A walk needs two ends: the other one gives way.
    if (one.value === other.value) other.value = (Number(one.value) + 1) % k;
    show();
  });
  changed(from, to);
  changed(to, from);
  slider.addEventListener('input', show);
  reveal('walks');
  show();
}

function startDenoising() {
  const { rows: shown, components, of, explained, errors, noisy_error: noisyError, deviation } = data.denoising;
  const [slider, count, text, box, select] =
    ['denoise-components', 'denoise-count', 'denoise-text', 'denoise-view', 'denoise-row'].map(find);
  slider.max = components.length - 1;
  // Begins with what is best on the rows measured.
  slider.value = errors.indexOf(Math.min(...errors));
  const at = (which, i) => sample(data.denoising.denoised, which * shown.length + i);
  let update;
  if (pictures) {
    // All rows at once: a line each for original, noisy and denoised.
    const lines = box.appendChild(make('div', 'lines'));
    const line = (title) => {
      lines.appendChild(make('span', '', title));
      const cells = lines.appendChild(make('div'));
      return shown.map((row) => {
        const canvas = pictureCanvas(`${title}: ${rowName(row)}`);
        cells.appendChild(make('figure')).appendChild(canvas);
        return canvas;
      });
    };
    const [original, noisy, denoised] = ['original', 'noisy', 'denoised'].map(line);
    shown.forEach((_, i) => {
      paint(original[i], sample(data.denoising.original, i));
      paint(noisy[i], sample(data.denoising.noisy, i));
    });
    update = (which) => denoised.forEach((canvas, i) => paint(canvas, at(which, i)));
  } else {
    find('denoise-row-label').hidden = false;
    shown.forEach((row, i) => select.add(new Option(rowName(row), i)));
    const view = makeView(box, ['original', 'noisy', 'denoised']);
    update = (which) => {
      const i = Number(select.value);
      view.show([sample(data.denoising.original, i), sample(data.denoising.noisy, i), at(which, i)]);
    };
    select.addEventListener('change', () => show());
  }
  function show() {
    const which = Number(slider.value);
    update(which);
    count.textContent = `${components[which]} of ${of}`;
    slider.setAttribute('aria-valuetext', count.textContent);
    const kept = components[which] > 1 ? `The first ${components[which]} components keep` : 'The first component keeps';
    text.textContent = `Noise of deviation ${short(deviation)}${asSeen}. ${kept} ${percent(explained[which])} of the codes’ variance. `
      + `Mean squared error to the clean rows${asSeen && ', also as it sees them'}: ${short(noisyError)} noisy, ${short(errors[which])} denoised.`;
  }
  slider.addEventListener('input', show);
  reveal('denoising');
  show();
}

function startWorst(map) {
  // A card for each row; pressing it shows the row on the map.
  const card = (list, row, titles, samples, title, lines) => {
    const button = list.appendChild(make('button', 'card'));
    button.type = 'button';
    const box = make('div');
    makeView(box, titles).show(samples);
    button.append(...box.childNodes, make('b', 'title', title), ...lines.map((line) => make('span', 'small', line)));
    button.addEventListener('click', () => {
      find('map').scrollIntoView();
      map.goTo(row);
      find('map-canvas').focus({ preventScroll: true });
    });
  };
  const list = find('worst-rows');
  list.classList.toggle('tables', !pictures);
  for (const row of data.worst.reconstructed) {
    const times = rows.errors[row] / data.worst.mean_error;
    const line = `squared error ${short(rows.errors[row])}, ${times < 0.095 ? short(times) : fixed(times, 1)} times the mean`;
    card(list, row, ['row', 'from its code'],
      [sample(data.rows.original, row), sample(data.rows.restored, row)], rowName(row), [line]);
  }
  const odd = find('misaligned-rows');
  if (odd) {
    odd.classList.add(pictures ? 'three' : 'tables');
    const { misaligned, neighbours } = data.worst;
    for (const [place, { row, alignment, by_prior: prior, by_codes: codes }] of misaligned.entries()) {
      // Neighbours are shown by the features of the row.
      const samples = [row, prior, codes].map((i, which) => (neighbours === null ? sample(data.rows.original, i)
        : sample(neighbours, which * misaligned.length + place)));
      card(odd, row, ['row', 'nearest by prior', 'nearest by codes'], samples, rowName(row),
        [`alignment ${fixed(alignment, 3)}; by the prior most like ${rowName(prior)}; by codes ${rowName(codes)}`]);
    }
  }
  reveal('worst');
}
