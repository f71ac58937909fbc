// What every panel uses: the data, the theme's colours, and rows as pictures or as tables of features.

const data = JSON.parse(document.getElementById('data').textContent);
const find = (id) => document.getElementById(id);

// Numbers come as little-endian bytes in base64.
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const u16 = (text) => new Uint16Array(bytes(text).buffer);
const u32 = (text) => new Uint32Array(bytes(text).buffer);
const f32 = (text) => new Float32Array(bytes(text).buffer);

// An element with text in it: text from data never becomes markup.
function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

// Digits enough to know a value by: four of them after the zeros of a small one, six of others, and every one before the
// point. `short` of the figures has the same rule.
function short(value) {
  if (!Number.isFinite(value)) return '–';
  if (value === 0) return '0';
  const size = Math.floor(Math.log10(Math.abs(value)));
  const text = size < -4 || size >= 9 ? value.toExponential(3).replace('e+', 'e')
    : value.toFixed(Math.max((size < 0 ? 3 : 5) - size, 0)).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
  return text.replace(/-/g, '−');
}
// So many decimals, with the minus sign of `short`, and none before zero.
function fixed(value, decimals) {
  const text = value.toFixed(decimals);
  return Number(text) === 0 ? text.replace('-', '') : text.replace('-', '−');
}
// 100 only when it is all, and 0 only when it is nothing.
function percent(share) {
  const text = (100 * share).toFixed(share > 0.9 || share < 0.0995 ? 1 : 0);
  if (share < 1 && Number(text) === 100) return 'over 99.9 %';
  if (share > 0 && Number(text) === 0) return 'under 0.1 %';
  return `${Number(text)} %`;
}

// Colours of the theme, in light or dark as the screen is.
const dark = matchMedia('(prefers-color-scheme: dark)');
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const classColour = (k) => colour(`class-${k % 12}`);
// Marks of classes, of radius 10.
const shapes = data.shapes.map((d) => new Path2D(d));
// What is drawn on canvases is drawn again when their size or the colours change.
const redraw = [];
dark.addEventListener('change', () => redraw.forEach((draw) => draw()));

// A canvas as sharp as the screen: its drawing context, and its size in CSS pixels.
function sharp(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const ratio = devicePixelRatio || 1;
  const [w, h] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height, ratio };
}

// The rows on the page.
const rows = {
  count: data.rows.count,
  numbers: u32(data.rows.numbers),
  classes: u16(data.rows.classes),
  errors: f32(data.rows.errors),
};
const labelled = rows.classes.length > 0;
const className = (i) => (labelled ? data.classes[rows.classes[i]] : '');
const rowName = (i) => `row ${rows.numbers[i]}${labelled ? `, class ${className(i)}` : ''}`;
function partOf(i) {
  for (const [name, count] of data.rows.parts) {
    if (i < count) return name;
    i -= count;
  }
  return '';
}

const pictures = data.looks.pictures;
const features = data.looks.features;
// What is to be said of errors beside values of the file.
const asSeen = features ? ' as the network sees rows' : '';

// Sheets as they are used: pixels of all pictures, or features and values of all rows.
const sheets = [];
async function openSheets() {
  for (const sheet of data.sheets) {
    if (sheet.pictures) {
      const { png, columns } = sheet.pictures;
      const image = new Image();
      image.src = `data:image/png;base64,${png}`;
      await image.decode();
      const canvas = make('canvas');
      [canvas.width, canvas.height] = [image.width, image.height];
      const context = canvas.getContext('2d', { willReadFrequently: true });
      context.drawImage(image, 0, 0);
      sheets.push({ columns, across: image.width, pixels: context.getImageData(0, 0, image.width, image.height).data });
    } else {
      const { features: which, values, width } = sheet.features;
      sheets.push({ width, which: u16(which), values: f32(values) });
    }
  }
}

// A sample is what a panel shows: places on a sheet with weights that sum to one.
const sample = (sheet, index) => ({ sheet, places: [[index, 1]] });

function paint(canvas, { sheet, places }) {
  const { columns, across, pixels } = sheets[sheet];
  const { width, height } = pictures;
  const context = canvas.getContext('2d');
  const image = context.createImageData(width, height);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const at = 4 * (y * width + x);
      for (const [index, weight] of places) {
        const from = 4 * ((Math.floor(index / columns) * height + y) * across + (index % columns) * width + x);
        for (let c = 0; c < 3; c += 1) image.data[at + c] += Math.round(weight * pixels[from + c]);
      }
      image.data[at + 3] = 255;
    }
  }
  context.putImageData(image, 0, 0);
}

// Features of a sample: places in the list of features, values, how far along the bar, and whether beyond its end (by
// more than can be seen).
function listed({ sheet, places }) {
  const { width, which, values } = sheets[sheet];
  const own = which.length !== width;
  return Array.from({ length: width }, (_, j) => {
    const feature = own ? which[places[0][0] * width + j] : which[j];
    const [low, high] = [features.low[feature], features.high[feature]];
    const value = places.reduce((sum, [index, weight]) => sum + weight * values[index * width + j], 0);
    const share = high > low ? (value - low) / (high - low) : 0;
    const level = Math.min(Math.max(share, 0), 1);
    return { feature, value, level, beyond: Math.abs(share - level) > 0.005 ? Math.sign(share - level) : 0 };
  });
}

function pictureCanvas(title) {
  const canvas = make('canvas', 'picture');
  [canvas.width, canvas.height] = [pictures.width, pictures.height];
  // As wide as there is room for, but no higher than can be seen at once; the pixels of strips are stretched.
  canvas.style.aspectRatio = pictures.aspect;
  canvas.style.maxWidth = `${240 * Math.min(pictures.aspect, 1)}px`;
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', title);
  return canvas;
}

// A place for samples side by side, one for each title: pictures, or columns of a table. `show` takes the samples.
function makeView(container, titles) {
  container.replaceChildren();
  if (pictures) {
    const box = container.appendChild(make('div', 'views'));
    const canvases = titles.map((title) => {
      const figure = box.appendChild(make('figure'));
      const canvas = figure.appendChild(pictureCanvas(title));
      if (title) figure.appendChild(make('figcaption', '', title));
      return canvas;
    });
    return { show: (samples) => samples.forEach((s, i) => s && paint(canvases[i], s)) };
  }
  const table = container.appendChild(make('table', 'features'));
  const head = table.createTHead().insertRow();
  for (const title of ['feature', ...titles]) {
    const cell = head.appendChild(make('th', '', title));
    cell.scope = 'col';
  }
  const body = table.createTBody();
  return {
    show(samples) {
      const columns = samples.map(listed);
      body.replaceChildren();
      // The first one's features lead; a feature that another does not list has no value there.
      for (const feature of new Set(columns.flat().map((entry) => entry.feature))) {
        const line = body.insertRow();
        line.appendChild(make('th', '', features.names[feature])).scope = 'row';
        for (const column of columns) {
          const entry = column.find((e) => e.feature === feature);
          const cell = line.insertCell();
          cell.textContent = entry ? short(entry.value) : '';
          if (!entry) continue;
          const bar = cell.appendChild(make('span', `bar ${['below', '', 'above'][entry.beyond + 1]}`.trim()));
          bar.appendChild(make('i')).style.width = `${100 * entry.level}%`;
          const [low, high] = [features.low[feature], features.high[feature]];
          const mean = high > low ? (features.mean[feature] - low) / (high - low) : 0;
          if (mean >= 0 && mean <= 1) bar.appendChild(make('b')).style.left = `${100 * mean}%`;
        }
      }
    },
  };
}

// A panel that works takes the place of its figure.
const reveal = (id) => {
  const section = find(id);
  section.querySelectorAll('.live').forEach((live) => { live.hidden = false; });
  section.classList.add('is-live');
};
