// What a page must do in a real browser. Every check says what it is about; the first that fails ends the run.
//
//     node check.mjs PAGE.html NAME [CHROMIUM]
//
// NAME is what the data are called. Of a page without labels or without a kernel, what remains is checked.

import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './chromium.mjs';

const [page, dataName, chromium = 'chromium'] = process.argv.slice(2);
const url = pathToFileURL(resolve(page)).href;
// What the page carries. That it is right is for the tests of the crate that makes it; here, that it is what is shown.
const data = JSON.parse(readFileSync(page, 'utf8').split('id="data">')[1].split('</script>')[0]);
const bytes = (text) => Uint8Array.from(Buffer.from(text, 'base64'));
const u16 = (text) => new Uint16Array(bytes(text).buffer);
const f32 = (text) => new Float32Array(bytes(text).buffer);
const classes = u16(data.rows.classes);
const labelled = classes.length > 0;
const features = Boolean(data.looks.features);
const several = new Set(classes).size > 1;
const rowName = (i) => `row ${new Uint32Array(bytes(data.rows.numbers).buffer)[i]}${labelled ? `, class ${data.classes[classes[i]]}` : ''}`;
const [x0, x1, y0, y1] = data.map.range;
const along = (packed, low, high) => Array.from(u16(packed), (level) => low + (level / 65535) * (high - low));
const [xs, ys] = [along(data.map.x, x0, x1), along(data.map.y, y0, y1)];
// The row nearest to a point of the map, of those that are shown.
const nearest = (x, y, shows = () => true) => xs.map((_, i) => i).filter(shows)
  .reduce((best, i) => (Math.hypot(xs[i] - x, ys[i] - y) < Math.hypot(xs[best] - x, ys[best] - y) ? i : best));
const SHIFT = 8;

let checks = 0;
function check(holds, what) {
  if (!holds) throw new Error(`not so: ${what}`);
  checks += 1;
  console.log(`ok: ${what}`);
}

// A number for what is drawn on all canvases and written in all texts of a place: it changes when what is shown changes.
const shown = (selector) => `(() => {
  const place = document.querySelector(${JSON.stringify(selector)});
  let text = place.textContent;
  for (const canvas of [...place.querySelectorAll('canvas'), ...(place.matches('canvas') ? [place] : [])]) text += canvas.toDataURL();
  return [...text].reduce((hash, letter) => (hash * 31 + letter.codePointAt(0)) | 0, 7);
})()`;

// In the page: every picture or row of features of a sheet as numbers from 0 to 1, from the data alone.
const openSheet = `async (sheet) => {
  const data = JSON.parse(document.querySelector('#data').textContent);
  const { pictures, features } = data.sheets[sheet];
  if (features) {
    const buffer = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
    const [values, which] = [new Float32Array(buffer(features.values)), new Uint16Array(buffer(features.features))];
    const { width, count } = features;
    const { low, high } = data.looks.features;
    const level = (value, f) => (high[f] > low[f] ? Math.min(Math.max((value - low[f]) / (high[f] - low[f]), 0), 1) : 0);
    return Array.from({ length: count }, (_, i) => Array.from(values.slice(i * width, (i + 1) * width),
      (v, j) => level(v, which.length === width ? which[j] : which[i * width + j])));
  }
  const image = new Image();
  image.src = 'data:image/png;base64,' + pictures.png;
  await image.decode();
  const { width, height } = data.looks.pictures;
  const context = new OffscreenCanvas(image.width, image.height).getContext('2d', { willReadFrequently: true });
  context.drawImage(image, 0, 0);
  return Array.from({ length: pictures.count }, (_, i) =>
    Array.from(context.getImageData((i % pictures.columns) * width, Math.floor(i / pictures.columns) * height, width, height).data, (v) => v / 255));
}`;
// The same of what a place shows: the picture or the column of a table at `at`.
const lookAt = (selector, at) => `(() => {
  const place = document.querySelector(${JSON.stringify(selector)});
  const canvas = place.querySelectorAll('canvas')[${at}];
  if (canvas) {
    // From a copy: reading a canvas of the page often would be told on the console.
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    return Array.from(copy.getImageData(0, 0, canvas.width, canvas.height).data, (v) => v / 255);
  }
  return [...place.querySelectorAll('tbody tr')].map((line) => parseFloat(line.cells[${at} + 1].querySelector('i').style.width) / 100);
})()`;
const distance = (a, b) => (a.length === b.length ? Math.sqrt(a.reduce((sum, v, i) => sum + (v - b[i]) ** 2, 0) / a.length) : Infinity);

// Points, decoded points and kernel entries are where the data say: a map that is mirrored or turned fails.
async function isRight(tab) {
  const box = await tab.box('#map-canvas');
  const unit = Math.min(box.width / (x1 - x0), box.height / (y1 - y0));
  const onScreen = (x, y) => [box.x + box.width / 2 + (x - (x0 + x1) / 2) * unit, box.y + box.height / 2 - (y - (y0 + y1) / 2) * unit];

  // The decoded point that differs most from those that a mirrored or turned grid would show.
  const { side } = data.map;
  const grid = await tab.evaluate(`(${openSheet})(${data.map.grid})`);
  check(grid.length === side * side, 'the grid has all its points');
  const others = (i, j) => [[j, i], [i, side - 1 - j], [side - 1 - i, j], [side - 1 - i, side - 1 - j]].map(([a, b]) => grid[b * side + a]);
  const alone = (i, j) => Math.min(...others(i, j).map((other) => distance(grid[j * side + i], other)));
  // Points on the rim are on the edge of the canvas, where there is no pointer.
  let [i, j] = [1, 2];
  for (let b = 1; b < side - 1; b += 1) for (let a = 1; a < side - 1; a += 1) if (alone(a, b) > alone(i, j)) [i, j] = [a, b];
  await tab.mouse('mouseMoved', ...onScreen(x0 + ((x1 - x0) * i) / (side - 1), y0 + ((y1 - y0) * j) / (side - 1)));
  const far = distance(await tab.evaluate(lookAt('#decoded', 0)), grid[j * side + i]);
  // The pointer may be half a pixel off, where a little of the next point shows.
  check(alone(i, j) > 0.02 && far < 0.2 * alone(i, j), `the decoder shows point (${i}, ${j}) there: ${far} of ${alone(i, j)}`);

  // The row farthest from all others.
  const gap = (a) => Math.min(...xs.map((x, b) => (a === b ? Infinity : Math.hypot(x - xs[a], ys[b] - ys[a]))));
  const gaps = xs.map((_, a) => gap(a));
  const row = gaps.indexOf(Math.max(...gaps));
  check(gaps[row] * unit > 4, `a row lies alone: ${gaps[row] * unit} pixels`);
  const at = onScreen(xs[row], ys[row]);
  await tab.mouse('mouseMoved', ...at);
  const text = await tab.evaluate("document.querySelector('#row-text').textContent");
  check(text.startsWith(`${rowName(row)}; `), `there it is named: ${text} (${rowName(row)})`);
  for (const [which, sheet] of [data.rows.original, data.rows.restored].entries()) {
    const own = (await tab.evaluate(`(${openSheet})(${sheet})`))[row];
    check(distance(await tab.evaluate(lookAt('#row', which)), own) < 1e-3, `and shown, from sheet ${sheet}`);
  }
  const [colour, wanted] = await tab.evaluate(`(() => {
    const canvas = document.querySelector('#map-canvas');
    const style = getComputedStyle(document.documentElement);
    const pixel = canvas.getContext('2d').getImageData(Math.round(${at[0] - box.x}), Math.round(${at[1] - box.y}), 1, 1).data;
    const hex = style.getPropertyValue('--class-${labelled ? classes[row] % 12 : 0}').trim();
    return [[...pixel], [1, 3, 5].map((c) => parseInt(hex.slice(c, c + 2), 16))];
  })()`);
  check(colour[3] > 100 && wanted.every((v, c) => Math.abs(v - colour[c]) < 12), `and drawn in the colour of its class: ${colour}, ${wanted}`);

  // Whatever the distance, the row shown is the nearest, and its numbers are those that the page carries.
  for (const [u, v] of [[0.02, 0.03], [0.97, 0.5], [0.5, 0.98]]) {
    await tab.mouse('mouseMoved', box.x + u * box.width, box.y + v * box.height);
    const there = [(x0 + x1) / 2 + ((u - 0.5) * box.width) / unit, (y0 + y1) / 2 - ((v - 0.5) * box.height) / unit];
    const near = nearest(...there);
    const named = await tab.evaluate("document.querySelector('#row-text').textContent");
    check(named.startsWith(`${rowName(near)}; `), `at ${there} the nearest row is named: ${named} (${rowName(near)})`);
    if (!data.looks.features) continue;
    const { values, width } = data.sheets[data.rows.original].features;
    const wantedValues = f32(values).slice(near * width, (near + 1) * width);
    const texts = await tab.evaluate("[...document.querySelectorAll('#row tbody tr')].map((line) => line.cells[1].textContent)");
    const close = (text, value) => {
      const difference = Math.abs(Number(text.replaceAll('−', '-')) - value);
      // Every digit before the point, and four or six in all.
      return difference <= Math.min(Math.abs(value) * (Math.abs(value) < 1 ? 6e-4 : 6e-6) || 1e-9, Math.abs(value) < 1e9 ? 0.51 : Infinity);
    };
    check(texts.length === width && texts.every((text, i) => close(text, wantedValues[i])), `its values are whole: ${texts} (${wantedValues})`);
  }
  check(features === / as the network sees rows$/.test(text), `errors beside values of the file say their unit: ${text}`);
  if (!data.kernels) return;

  // The upper right corner of a kernel is the first row and the last; one down, the second and the last.
  const { rows: order, prior, codes } = data.kernels;
  const n = order.length;
  const entry = ({ values }, a, b) => f32(values)[(Math.max(a, b) * (Math.max(a, b) + 1)) / 2 + Math.min(a, b)];
  const kernel = await tab.box('#kernel-prior');
  await tab.mouse('mouseMoved', kernel.x + kernel.width - 4.6, kernel.y + 4.6);
  for (const [a, b] of [[0, n - 1], [1, n - 1]]) {
    const [pair, ...values] = (await tab.evaluate("document.querySelector('#kernel-text').textContent")).split('\n');
    check(pair === `${rowName(order[a])} and ${rowName(order[b])}`, `entry (${a}, ${b}) of the kernels is named: ${pair}`);
    for (const [k, [name, triangle]] of [['Prior', prior], ['Codes', codes]].entries()) {
      const shownValue = Number(values[k].replaceAll('−', '-').match(new RegExp(`^${name}: (\\S+) `))[1]);
      const wantedValue = entry(triangle, a, b);
      check(Math.abs(shownValue - wantedValue) <= 6e-4 * Math.abs(wantedValue), `its value is shown: ${values[k]} (${wantedValue})`);
      const inUnits = Number(values[k].replaceAll('−', '-').match(/\((\S+) × RMS\)/)[1]);
      check(!values[k].includes('-') && Math.abs(inUnits - wantedValue / triangle.rms) < 0.0051, `and in units of the kernel: ${values[k]}`);
    }
    await tab.evaluate("document.querySelector('#kernel-prior').focus()");
    await tab.key('ArrowDown');
  }
}

// Every place that shows names from data shows them whole, as text.
async function isNamed(tab) {
  const texts = (selector) => tab.evaluate(`[...document.querySelectorAll(${JSON.stringify(selector)})].map((e) => e.textContent)`);
  const same = (a, b, what) => check(JSON.stringify(a) === JSON.stringify(b), `${what}: ${JSON.stringify(a)}, ${JSON.stringify(b)}`);
  check(await tab.evaluate('document.title') === `${dataName} – dkae report`, `the title names the data: ${dataName}`);
  same(await texts('h1'), [dataName], 'the heading names the data');
  const present = [...new Set(classes)].sort((a, b) => a - b).map((k) => data.classes[k]);
  if (!present.every((name) => Number.isFinite(parseFloat(name)))) present.sort(new Intl.Collator('en', { numeric: true }).compare);
  same(await texts('#legend button span'), present, 'the legend names the classes');
  for (const id of ['walk-from', 'walk-to']) same(await texts(`#${id} option`), data.walks.names, `${id} names the clusters`);
  const named = (name, k) => data.classes.some((c) => new RegExp(`^cluster ${k + 1}: (over )?\\d+ % `).test(name) && name.endsWith(` % ${c}`));
  const clusters = data.walks.names.every((name, k) => (labelled ? named(name, k) : name === `cluster ${k + 1}`));
  check(clusters, `clusters have the names of classes: ${data.walks.names}`);
  same(await texts('#worst-rows .title'), data.worst.reconstructed.map(rowName), 'cards name the worst rows');
  same(await texts('#misaligned-rows .title'), data.worst.misaligned.map(({ row }) => rowName(row)), 'and the misaligned ones');
  const blank = (await texts('#worst td, #row td, #walks td, #denoising td, #kernels td')).filter((text) => !/\d/.test(text));
  check(blank.length === 0, `every cell has its number: ${blank}`);
  if (!data.looks.features) return;
  // Tables begin with the features of row 0 after loading; those of decoded points are the same everywhere.
  const { names } = data.looks.features;
  const own = (sheet, count) => [...u16(data.sheets[sheet].features.features).slice(0, count)].map((f) => names[f]);
  const { width } = data.sheets[data.rows.original].features;
  same(await texts('#row tbody th'), own(data.rows.original, width), 'the row names its features');
  same(await texts('#decoded tbody th'), own(data.map.grid), 'the decoder names its features');
}

const browser = await launch(chromium);
try {
  check(statSync(page).size < 5e6, `the page is under 5 MB: ${statSync(page).size}`);

  const tab = await browser.open(url);
  await tab.until("document.documentElement.dataset.ready === 'true'");
  check(tab.errors.length === 0, `no errors on the console: ${tab.errors.join('; ')}`);
  check(tab.requests.every((r) => r === url), `nothing is asked of anybody: ${tab.requests}`);
  const live = await tab.evaluate("[...document.querySelectorAll('.live')].filter((l) => l.hidden).length");
  check(live === 0, 'every panel is live');
  await isNamed(tab);
  await isRight(tab);

  // Runs an action; what the places show must change.
  const changes = async (places, action, what) => {
    const before = await Promise.all(places.map((p) => tab.evaluate(shown(p))));
    await action();
    const after = await Promise.all(places.map((p) => tab.evaluate(shown(p))));
    places.forEach((place, i) => check(before[i] !== after[i], `${what} changes ${place}`));
  };

  // The map.
  const map = await tab.box('#map-canvas');
  const at = (u, v) => [map.x + u * map.width, map.y + v * map.height];
  await tab.mouse('mouseMoved', ...at(0.5, 0.5));
  await changes(['#decoded'], () => tab.mouse('mouseMoved', ...at(0.2, 0.3)), 'moving over the map');
  await changes(['#decoded'], () => tab.mouse('mouseMoved', ...at(0.205, 0.3)), 'moving a little, between decoded points,');
  const sweep = async () => {
    for (let u = 0.1; u < 0.9; u += 0.05) for (let v = 0.2; v < 0.9; v += 0.2) await tab.mouse('mouseMoved', ...at(u, v));
  };
  await changes(['#row', '#row-text'], sweep, 'hovering over rows');
  const zoom = () => tab.evaluate("Number(document.querySelector('#map-canvas').dataset.zoom)");
  const middle = () => tab.evaluate("document.querySelector('#map-canvas').dataset.middle");
  const [z0, m0] = [await zoom(), await middle()];
  const wheel = (deltaY) => tab.mouse('mouseWheel', ...at(0.4, 0.4), { deltaX: 0, deltaY });
  await tab.evaluate('document.activeElement.blur()');
  await wheel(-300);
  await tab.evaluate("new Promise((r) => setTimeout(r, 100))");
  check(await zoom() === z0, 'the wheel scrolls the page until the map was clicked');
  await tab.box('#map-canvas');
  await tab.mouse('mousePressed', ...at(0.5, 0.5), { button: 'left', clickCount: 1 });
  await tab.mouse('mouseReleased', ...at(0.5, 0.5), { button: 'left', clickCount: 1 });
  await wheel(-300);
  await tab.until(`Number(document.querySelector('#map-canvas').dataset.zoom) > ${1.2 * z0}`);
  check(await middle() !== m0, 'the wheel zooms at the pointer');
  const m1 = await middle();
  await changes(['#map-canvas'], async () => {
    await tab.mouse('mousePressed', ...at(0.5, 0.5), { button: 'left', clickCount: 1 });
    await tab.mouse('mouseMoved', ...at(0.6, 0.55), { button: 'left', buttons: 1 });
    await tab.mouse('mouseReleased', ...at(0.6, 0.55), { button: 'left', clickCount: 1 });
  }, 'dragging');
  check(await middle() !== m1, 'dragging moves the map');
  const z1 = await zoom();
  await tab.click('#zoom-in');
  check(await zoom() > z1, 'the + button zooms in');
  await tab.click('#zoom-out');
  await tab.click('#zoom-out');
  check(await zoom() < z1, 'the − button zooms out');
  await tab.click('#zoom-reset');
  check(await zoom() === 1, 'the whole map comes back');

  // Beyond what is decoded the page says so.
  const outside = () => tab.evaluate("!document.querySelector('#decoded-text').hidden");
  await tab.box('#map-canvas');
  await tab.mouse('mouseMoved', ...at(0.01, 0.01));
  check(!await outside(), 'the whole map is decoded');
  await tab.click('#zoom-out');
  await tab.box('#map-canvas');
  await tab.mouse('mouseMoved', ...at(0.01, 0.01));
  check(await outside(), 'what lies beyond is not, and the page says so');
  await tab.click('#zoom-reset');

  // The legend; with one class there is nothing to choose from.
  const rowText = () => tab.evaluate("document.querySelector('#row-text').textContent");
  if (labelled) {
    const [name, under] = [await tab.box('#legend button'), await tab.box('#map-canvas')];
    const gap = await tab.evaluate(`document.querySelector('#legend').getBoundingClientRect().y - document.querySelector('#map-canvas').getBoundingClientRect().bottom`);
    check(gap >= 8 && name.width <= under.width, `the legend stands below the map: ${gap}`);
    // Names are whole, whatever their length.
    const hiddenPart = await tab.evaluate(`[...document.querySelectorAll('#legend span')].filter((s) => s.scrollWidth > s.clientWidth + 1).length`);
    check(hiddenPart === 0, 'the legend shows all of every name');
    // Names on the map leave the buttons alone, even when the middle of a class is moved under them.
    const middleRow = (values) => values.filter((_, i) => classes[i] === classes[0]).sort((a, b) => a - b);
    const [own, buttons] = [[xs, ys].map((values) => middleRow([...values])), await tab.box('.zoom')];
    const canvas = await tab.evaluate("(({ x, y, width, height }) => ({ x, y, width, height }))(document.querySelector('#map-canvas').getBoundingClientRect())");
    const perUnit = Math.min(canvas.width / (x1 - x0), canvas.height / (y1 - y0));
    const [mx, my] = own.map((values) => values[Math.floor(values.length / 2)]);
    const [cx, cy] = [canvas.x + canvas.width / 2, canvas.y + canvas.height / 2];
    const from = [cx + (mx - (x0 + x1) / 2) * perUnit, cy - (my - (y0 + y1) / 2) * perUnit];
    const to = [buttons.x + buttons.width / 2, buttons.y + buttons.height / 2];
    await tab.mouse('mouseMoved', cx, cy);
    await tab.mouse('mousePressed', cx, cy, { button: 'left', clickCount: 1 });
    await tab.mouse('mouseMoved', cx + to[0] - from[0], cy + to[1] - from[1], { button: 'left', buttons: 1 });
    await tab.mouse('mouseReleased', cx + to[0] - from[0], cy + to[1] - from[1], { button: 'left', clickCount: 1 });
    const boxes = await tab.evaluate(`(() => {
      const canvas = document.querySelector('#map-canvas').getBoundingClientRect();
      const zoom = document.querySelector('.zoom').getBoundingClientRect();
      const overlap = ([x, y, w, h]) => x < zoom.right - canvas.x && x + w > zoom.x - canvas.x && y < zoom.bottom - canvas.y && y + h > zoom.y - canvas.y;
      return JSON.parse(document.querySelector('#map-canvas').dataset.named).filter(overlap).length;
    })()`);
    check(boxes === 0, 'no name lies under the buttons of the map');
    await tab.click('#zoom-reset');
  }
  if (several) {
    const middleOf = [(x0 + x1) / 2, (y0 + y1) / 2];
    await tab.box('#map-canvas');
    await tab.mouse('mouseMoved', ...at(0.5, 0.5));
    const first = await tab.evaluate("document.querySelector('#legend button span').textContent");
    await changes(['#map-canvas'], () => tab.click('#legend button'), 'switching a class off');
    check(await tab.evaluate("document.querySelector('#legend button').getAttribute('aria-pressed')") === 'false', 'the button says that it is off');
    await tab.box('#map-canvas');
    await tab.mouse('mouseMoved', ...at(0.5, 0.5));
    const others = nearest(...middleOf, (i) => data.classes[classes[i]] !== first);
    check((await rowText()).startsWith(`${rowName(others)};`), `the nearest row is one of those shown: ${await rowText()} (${rowName(others)})`);
    await changes(['#map-canvas'], () => tab.click('#legend button'), 'switching it on again');
    check((await rowText()).startsWith(`${rowName(nearest(...middleOf))};`), `its rows are back: ${await rowText()}`);
    await changes(['#map-canvas', '#row-text'], () => tab.click('#legend-none'), 'switching all off');
    check(await tab.evaluate("document.querySelector('#row').hidden") && /switched off/.test(await rowText()), 'then no row is the nearest');
    await changes(['#map-canvas', '#row-text'], () => tab.click('#legend-all'), 'switching all on');
    check(Number(await tab.evaluate("document.querySelector('#map-canvas').dataset.names")) > 0, 'names of classes stand on the map');
    await changes(['#map-canvas'], () => tab.click('#map-names'), 'switching the names off');
    await changes(['#map-canvas'], () => tab.click('#map-names'), 'switching them on');
  }

  // Keys, from the middle.
  await tab.box('#map-canvas');
  await tab.mouse('mouseMoved', ...at(0.5, 0.5));
  await tab.evaluate("document.querySelector('#map-canvas').focus()");
  await changes(['#decoded', '#map-canvas'], () => tab.key('ArrowRight'), 'an arrow key');
  await changes(['#row', '#row-text'], () => tab.key('n'), 'the key N');
  await changes(['#row', '#row-text'], () => tab.key('p'), 'the key P');
  const crossAt = async () => (await tab.evaluate("document.querySelector('#map-canvas').dataset.cross")).split(' ').map(Number);
  const before = await crossAt();
  await tab.key('+');
  check(await zoom() > 1, 'the key + zooms in');
  const after = await crossAt();
  check(Math.hypot(before[0] - after[0], before[1] - after[1]) < 1, `and the cross stays where it is: ${before}, ${after}`);
  const m2 = await middle();
  await tab.key('ArrowRight', SHIFT);
  check(await middle() !== m2, 'Shift with an arrow moves the map');
  for (let i = 0; i < 12; i += 1) await tab.key('ArrowRight', SHIFT);
  const moved = await crossAt();
  check(moved[0] >= 0 && moved[0] <= map.width && moved[1] >= 0 && moved[1] <= map.height, `the cross stays in view: ${moved}`);
  await tab.key('0');
  check(await zoom() === 1, 'the key 0 shows all');
  if (labelled) {
    await tab.evaluate("document.querySelector('#legend button').focus()");
    await changes(['#map-canvas'], () => tab.key(' '), 'the space bar on the legend');
    await changes(['#map-canvas'], () => tab.key(' '), 'the space bar again');
  }

  // Pictures can be seen whole; a value beyond the end of its bar has an arrow there.
  if (data.looks.pictures) {
    const sizes = await tab.evaluate(`[...document.querySelectorAll('canvas.picture')].map((canvas) => canvas.getBoundingClientRect())
      .filter((box) => box.width > 0).map(({ width, height }) => [width, height])`);
    const { aspect } = data.looks.pictures;
    check(aspect >= 0.25 && aspect <= 4 && sizes.every(([w, h]) => Math.abs(w / h / aspect - 1) < 0.05), `pictures are drawn ${aspect} times as wide as high`);
    check(sizes.length > 20 && sizes.every(([w, h]) => w >= 12 && h >= 12 && h <= 241), `and can be seen whole: ${sizes[0]}, ${sizes.at(-1)}`);
  } else {
    const { low, high } = data.looks.features;
    const { width, values, features } = data.sheets[data.rows.original].features;
    const [all, which] = [f32(values), u16(features)];
    const wanted = data.worst.reconstructed.flatMap((row) => Array.from({ length: width }, (_, j) => {
      const [v, f] = [all[row * width + j], which[row * width + j]];
      const rim = 0.005 * (high[f] - low[f]);
      return high[f] > low[f] && v > high[f] + rim ? 'above' : high[f] > low[f] && v < low[f] - rim ? 'below' : '';
    }));
    const found = await tab.evaluate(`[...document.querySelectorAll('#worst-rows tbody tr')].map((line) => line.cells[1].querySelector('.bar').className.replace('bar', '').trim())`);
    check(JSON.stringify(found) === JSON.stringify(wanted), `values beyond their bars have arrows: ${found} (${wanted})`);
    const shares = Array.from({ length: low.length }, (_, f) => {
      const own = [...all].filter((_v, i) => which[i] === f).map((v) => Math.min(Math.max((v - low[f]) / (high[f] - low[f]), 0), 1)).sort((a, b) => a - b);
      return own.length > 9 ? own[Math.floor(0.9 * own.length)] - own[Math.floor(0.1 * own.length)] : 1;
    });
    check(shares.every((share) => share > 0.05), `rows can be told apart by the bars of every feature: ${shares.map((s) => s.toFixed(2))}`);
    console.log(`arrows: ${found.filter((arrow) => arrow).length}`);
  }

  // Sliders and choices.
  const slide = (id, value) => tab.evaluate(`(() => { const s = document.querySelector('#${id}'); s.value = ${value};
    s.dispatchEvent(new Event('input', { bubbles: true })); })()`);
  const { steps, names: clusters } = data.walks;
  const walked = await tab.evaluate(`(${openSheet})(${data.walks.sheet})`);
  check(walked.length === (steps * clusters.length * (clusters.length - 1)) / 2, 'there is a walk between every two clusters');
  // The walk from a to b at a step: walks are carried for a < b, and the other way is the same backwards.
  const onWalk = (a, b, step) => {
    let walk = 0;
    for (let i = 0; i < Math.min(a, b); i += 1) walk += clusters.length - 1 - i;
    walk += Math.abs(a - b) - 1;
    return walked[walk * steps + (a < b ? step : steps - 1 - step)];
  };
  const isWalk = async (a, b, step) => {
    for (const [place, at] of [0, step, steps - 1].entries()) {
      const far = distance(await tab.evaluate(lookAt('#walk-view', place)), onWalk(a, b, at));
      check(far < 1e-3, `the walk from ${a} to ${b}, step ${step}, shows step ${at}: ${far}`);
    }
    const said = await tab.evaluate("document.querySelector('#walk-place').textContent");
    check(said === `${Math.round((100 * step) / (steps - 1))} % of the way`, `and says so: ${said}`);
  };
  await slide('walk-step', 0);
  await isWalk(0, 1, 0);
  await changes(['#walk-view', '#walk-place'], () => slide('walk-step', 7), 'the slider of walks');
  await tab.evaluate("document.querySelector('#walk-step').focus()");
  await changes(['#walk-view', '#walk-place'], () => tab.key('ArrowRight'), 'an arrow key on it');
  const choose = (id, value) => tab.evaluate(`(() => { const s = document.querySelector('#${id}'); s.value = ${value};
    s.dispatchEvent(new Event('change', { bubbles: true })); })()`);
  await isWalk(0, 1, 8);
  if (clusters.length > 2) {
    await changes(['#walk-view'], () => choose('walk-to', 2), 'another cluster to walk to');
    await isWalk(0, 2, 8);
    await changes(['#walk-view'], () => choose('walk-from', 1), 'another cluster to walk from');
    await slide('walk-step', 3);
    await isWalk(1, 2, 3);
    await choose('walk-to', 0);
    await isWalk(1, 0, 3);
  } else {
    await choose('walk-from', 1);
    await isWalk(1, 0, 8);
  }
  await choose('walk-from', 1);
  await choose('walk-to', 1);
  check(await tab.evaluate("document.querySelector('#walk-from').value !== '1'"), 'a walk has two ends');
  await slide('denoise-components', 0);
  const range = await tab.evaluate("Number(document.querySelector('#denoise-components').max)");
  for (let value = 1; value <= range; value += 1) {
    // The last components of a small code may change nothing that can be seen.
    const places = value < 3 ? ['#denoise-view', '#denoise-count', '#denoise-text'] : ['#denoise-count', '#denoise-text'];
    await changes(places, () => slide('denoise-components', value), `denoising, step ${value},`);
  }
  // What is shown is what the page carries for the slider's place and the row.
  const { denoising } = data;
  const opened = {};
  for (const kind of ['original', 'noisy', 'denoised']) opened[kind] = await tab.evaluate(`(${openSheet})(${denoising[kind]})`);
  const parsed = (text) => Number(text.replaceAll('−', '-'));
  const near = (a, b) => Math.abs(a - b) <= 6e-4 * Math.abs(b);
  const isDenoised = async (which, row) => {
    for (const [place, kind] of ['original', 'noisy', 'denoised'].entries()) {
      const at = features ? place : place * denoising.rows.length + row;
      const wanted = opened[kind][(kind === 'denoised' ? which * denoising.rows.length : 0) + row];
      const far = distance(await tab.evaluate(lookAt('#denoise-view', at)), wanted);
      check(far < 1e-3, `denoising, step ${which}, row ${row}: ${kind} is shown: ${far}`);
    }
    const [count, text] = await tab.evaluate("['count', 'text'].map((id) => document.querySelector('#denoise-' + id).textContent)");
    check(count === `${denoising.components[which]} of ${denoising.of}`, `so many components are kept: ${count}`);
    const [, deviation] = text.match(/^Noise of deviation (\S+?)(?: as the network sees rows)?\. /);
    const [, noisy, denoised] = text.match(/: (\S+) noisy, (\S+) denoised\.$/);
    check(near(parsed(deviation), denoising.deviation) && near(parsed(noisy), denoising.noisy_error) && near(parsed(denoised), denoising.errors[which]),
      `the noise and both errors are told: ${text} (${denoising.errors[which]})`);
    check(features === / as the network sees rows/.test(text), 'and their unit beside values of the file');
  };
  for (const which of new Set([0, Math.floor(range / 2), range])) {
    await slide('denoise-components', which);
    for (const row of [0, denoising.rows.length - 1]) {
      if (features) await choose('denoise-row', row);
      await isDenoised(which, row);
    }
  }
  if (features) await choose('denoise-row', 0);
  if (await tab.evaluate("!document.querySelector('#denoise-row-label').hidden")) {
    await changes(['#denoise-view'], () => choose('denoise-row', 1), 'another row to denoise');
  }

  // Kernels.
  for (const id of data.kernels ? ['kernel-prior', 'kernel-codes'] : []) {
    const box = await tab.box(`#${id}`);
    await tab.mouse('mouseMoved', box.x + 0.8 * box.width, box.y + 0.3 * box.height);
    await changes(['#kernel-text', '#kernel-view', '#kernel-prior', '#kernel-codes'],
      () => tab.mouse('mouseMoved', box.x + 0.4 * box.width, box.y + 0.7 * box.height), `hovering over ${id}`);
    await tab.evaluate(`document.querySelector('#${id}').focus()`);
    await changes(['#kernel-text'], () => tab.key('ArrowDown'), `an arrow key on ${id}`);
  }
  const named = data.kernels && await tab.evaluate("document.querySelector('#kernel-text').textContent");
  check(!data.kernels || /row \d+.* and row \d+/.test(named) && /Prior: /.test(named) && /Codes: /.test(named), `the pair and both values are named: ${named}`);

  // Cards side by side begin at one height, whatever the length of their names.
  const cards = await tab.evaluate(`[...document.querySelectorAll('.card')].map((card) => card.getBoundingClientRect().y + scrollY)
    .map((y, i) => [y, document.querySelectorAll('.card')[i].firstElementChild.getBoundingClientRect().y + scrollY - y])`);
  check(cards.length > 5 && cards.every(([, inner]) => Math.abs(inner - cards[0][1]) < 0.6), `cards begin at their top: ${cards.map(([, inner]) => inner)}`);

  // Worst rows lead to the map.
  for (const list of data.kernels ? ['worst-rows', 'misaligned-rows'] : ['worst-rows']) {
    const name = await tab.evaluate(`document.querySelector('#${list} .card:nth-child(3) .title').textContent`);
    await tab.click(`#${list} .card:nth-child(3)`);
    const text = await tab.evaluate("document.querySelector('#row-text').textContent");
    check(name.startsWith('row ') && text.startsWith(`${name};`), `a card of ${list} shows its row on the map: ${name}`);
  }
  check(tab.errors.length === 0, `still no errors on the console: ${tab.errors.join('; ')}`);

  // Names from data are text. The pages of the tests have names that would add elements or run.
  const injected = await tab.evaluate("document.querySelectorAll('body b.injected, body img').length + (window.injected ? 1 : 0)");
  check(injected === 0, 'no name from the data became an element or ran');
  await tab.close();

  // A laptop: nothing is wider than the screen, and Tab goes through everything that can be used, in the order of the page.
  const laptop = await browser.open(url, { width: 1280, height: 720 });
  await laptop.until("document.documentElement.dataset.ready === 'true'");
  const overflow = await laptop.evaluate('document.documentElement.scrollWidth');
  check(overflow <= 1280, `laptop: nothing is wider than the screen: ${overflow}`);
  const usable = await laptop.evaluate(`(window.usable = [...document.querySelectorAll('a, button, input, select, [tabindex]')]
    .filter((e) => e.tabIndex >= 0 && !e.disabled && e.getClientRects().length > 0)).length`);
  check(usable > 20, `there is much to use: ${usable}`);
  const visited = [];
  for (let i = 0; i < usable; i += 1) {
    await laptop.key('Tab');
    visited.push(await laptop.evaluate('window.usable.indexOf(document.activeElement)'));
  }
  check(visited.every((place, i) => place === i), `Tab visits all ${usable} in their order: ${visited}`);
  const outlined = await laptop.evaluate("getComputedStyle(document.activeElement).outlineStyle");
  check(outlined !== 'none', 'and shows where it is');
  await laptop.close();

  // A phone: nothing is wider than the screen, and a tap does what hovering does.
  for (const scheme of ['light', 'dark']) {
    const phone = await browser.open(url, { width: 390, height: 844, mobile: true, scheme });
    await phone.until("document.documentElement.dataset.ready === 'true'");
    const widest = await phone.evaluate('document.documentElement.scrollWidth');
    check(widest <= 390, `${scheme} phone: nothing is wider than the screen: ${widest}`);
    const box = await phone.box('#map-canvas');
    const before = await phone.evaluate(shown('#decoded'));
    const point = { x: box.x + 0.3 * box.width, y: box.y + 0.3 * box.height };
    await phone.call('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [point] });
    await phone.call('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    await phone.evaluate('new Promise((r) => setTimeout(r, 100))');
    check(before !== await phone.evaluate(shown('#decoded')), `${scheme} phone: a tap moves the cross`);
    // Two fingers that move together move the map.
    const whereIs = () => phone.evaluate("(({ zoom, middle }) => [Number(zoom), ...middle.split(' ').map(Number)])(document.querySelector('#map-canvas').dataset)");
    const [zoomed, ...from] = await whereIs();
    const fingers = (dx, dy) => [[0.4, 0.5], [0.6, 0.5]].map(([u, v], id) => ({ id, x: box.x + u * box.width + dx, y: box.y + v * box.height + dy }));
    await phone.call('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: fingers(0, 0) });
    for (const d of [10, 20, 30, 40]) await phone.call('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: fingers(d, d / 2) });
    await phone.call('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    await phone.evaluate('new Promise((r) => setTimeout(r, 100))');
    const [zoomedTo, ...to] = await whereIs();
    const perUnit = zoomed * Math.min(box.width / (x1 - x0), box.height / (y1 - y0));
    check(Math.abs(zoomedTo / zoomed - 1) < 0.02 && Math.abs((from[0] - to[0]) * perUnit - 40) < 4 && Math.abs((to[1] - from[1]) * perUnit - 20) < 4,
      `${scheme} phone: two fingers move the map: ${from} to ${to}, ${zoomed} to ${zoomedTo}, ${perUnit} pixels a unit`);
    const choices = await phone.evaluate(`[...document.querySelectorAll('select')].map((s) => parseFloat(getComputedStyle(s).paddingRight))`);
    check(choices.every((room) => room >= 20), `${scheme} phone: the arrow of a choice has its own room: ${choices}`);
    const contrast = await phone.evaluate(`(() => {
      const light = (text) => { const [r, g, b] = text.match(/\\d+/g).map(Number).map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05; };
      const style = getComputedStyle(document.querySelector('.small'));
      const [a, b] = [light(style.color), light(getComputedStyle(document.querySelector('section')).backgroundColor)];
      return Math.max(a, b) / Math.min(a, b); })()`);
    check(contrast >= 4.5, `${scheme}: the palest text has contrast: ${contrast.toFixed(1)}`);
    check(phone.errors.length === 0, `${scheme} phone: no errors: ${phone.errors.join('; ')}`);
    await phone.close();
  }

  // Without JavaScript the figures stand in, on paper too.
  const still = await browser.open(url, { script: false });
  const count = async (tabs, selector) => {
    const { root } = await tabs.call('DOM.getDocument', { depth: 0 });
    const { nodeIds } = await tabs.call('DOM.querySelectorAll', { nodeId: root.nodeId, selector });
    let visible = 0;
    for (const nodeId of nodeIds) {
      const model = await tabs.call('DOM.getBoxModel', { nodeId }).catch(() => null);
      if (model && model.model.width > 100 && model.model.height > 60) visible += 1;
    }
    return visible;
  };
  for (const id of ['map', 'walks', 'denoising', ...(data.kernels ? ['kernels'] : []), 'worst']) {
    check(await count(still, `#${id} .still svg, #${id} .still table`) > 0, `without JavaScript #${id} has its figure`);
  }
  // Each figure is seen in one go or two: a strip of pixels drawn to its length would take many.
  const heights = await Promise.all((await still.call('DOM.querySelectorAll', { nodeId: (await still.call('DOM.getDocument', { depth: 0 })).root.nodeId, selector: '.still svg' }))
    .nodeIds.map(async (nodeId) => (await still.call('DOM.getBoxModel', { nodeId })).model.height));
  check(heights.length === 0 || Math.max(...heights) < 1500, `without JavaScript no figure is a long scroll: ${heights}`);
  check(await count(still, '#training svg') >= 2, 'without JavaScript there are training curves');
  check(await count(still, '.live') === 0, 'and no dead controls');
  await still.close();

  // The same on a phone: nothing is wider than the screen, numbers are whole, and captions are large enough to be read.
  const small = await browser.open(url, { width: 390, height: 844, mobile: true, script: false });
  // The page has loaded without its script; from here on scripts are those of this file.
  await small.call('Emulation.setScriptExecutionDisabled', { value: false });
  check(!await small.evaluate('document.documentElement.dataset.ready'), 'the script of the page did not run');
  const broad = await small.evaluate('document.documentElement.scrollWidth');
  check(broad <= 390, `without JavaScript on a phone nothing is wider than the screen: ${broad}`);
  const broken = await small.evaluate(`[...document.querySelectorAll('.still table.features td, .still table.named td')].filter((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.y)));
    return /^[\\d−.e]+$/.test(cell.textContent) && lines.size > 1;
  }).map((cell) => cell.textContent)`);
  check(broken.length === 0, `no number is broken: ${broken}`);
  const letters = await small.evaluate(`[...document.querySelectorAll('.still svg text')].map((text) => {
    const svg = text.closest('svg');
    return [parseFloat(text.getAttribute('font-size')) * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width, text.textContent];
  }).filter(([size]) => size < 10)`);
  check(letters.length === 0, `captions can be read: ${letters}`);
  const dead = await small.evaluate("[...document.querySelectorAll('.live')].filter((e) => e.getClientRects().length > 0).map((e) => e.textContent)");
  check(dead.length === 0, `nothing is said of what is not there: ${dead}`);
  await small.close();

  const paper = await browser.open(url);
  await paper.until("document.documentElement.dataset.ready === 'true'");
  await paper.call('Emulation.setEmulatedMedia', { media: 'print' });
  check(await count(paper, '#map .still svg') >= 1 && await count(paper, '.live') === 0, 'paper has the figures');
  for (const width of [1280, 718, 560]) {
    await paper.call('Emulation.setDeviceMetricsOverride', { width, height: 1000, deviceScaleFactor: 1, mobile: false });
    const cut = await paper.evaluate(`[...document.querySelectorAll('.still svg, .charts svg')].filter((svg) => svg.getClientRects().length > 0)
      .map((svg) => [svg.closest('section').id, svg.getBoundingClientRect().right - svg.closest('section').getBoundingClientRect().right])
      .filter(([, over]) => over > 0.5)`);
    check(cut.length === 0, `on paper of ${width} pixels no figure is cut off: ${cut}`);
  }
  console.log(`${checks} checks`);
} finally {
  await browser.quit();
}
