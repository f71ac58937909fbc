// What a page must do in a real browser. Every check says what it is about; the first that fails ends the run.
//
//     node check.mjs PAGE.html [CHROMIUM] [loads]
//
// The page must have labels and a kernel; with `loads`, all that is checked is that the page loads and its panels start.

import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './chromium.mjs';

const [page, chromium = 'chromium', only] = process.argv.slice(2);
const url = pathToFileURL(resolve(page)).href;
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

const browser = await launch(chromium);
try {
  check(statSync(page).size < 5e6, `the page is under 5 MB: ${statSync(page).size}`);

  const tab = await browser.open(url);
  await tab.until("document.documentElement.dataset.ready === 'true'");
  check(tab.errors.length === 0, `no errors on the console: ${tab.errors.join('; ')}`);
  check(tab.requests.every((r) => r === url), `nothing is asked of anybody: ${tab.requests}`);
  const live = await tab.evaluate("[...document.querySelectorAll('.live')].filter((l) => l.hidden).length");
  check(live === 0, 'every panel is live');
  // A page without labels or kernel has fewer panels, and nothing to compare the others with.
  if (only === 'loads') {
    await browser.quit();
    process.exit(0);
  }

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

  // The legend.
  await changes(['#map-canvas'], () => tab.click('#legend button'), 'switching a class off');
  check(await tab.evaluate("document.querySelector('#legend button').getAttribute('aria-pressed')") === 'false', 'the button says that it is off');
  await changes(['#map-canvas'], () => tab.click('#legend button'), 'switching it on again');
  await changes(['#map-canvas'], () => tab.click('#legend .none'), 'switching all off');
  await changes(['#map-canvas'], () => tab.click('#legend .all'), 'switching all on');

  // Keys, from the middle: beyond its grid the decoder shows the rim.
  await tab.box('#map-canvas');
  await tab.mouse('mouseMoved', ...at(0.5, 0.5));
  await tab.evaluate("document.querySelector('#map-canvas').focus()");
  await changes(['#decoded', '#map-canvas'], () => tab.key('ArrowRight'), 'an arrow key');
  await changes(['#row', '#row-text'], () => tab.key('n'), 'the key N');
  await changes(['#row', '#row-text'], () => tab.key('p'), 'the key P');
  await tab.key('+');
  check(await zoom() > 1, 'the key + zooms in');
  const m2 = await middle();
  await tab.key('ArrowRight', SHIFT);
  check(await middle() !== m2, 'Shift with an arrow moves the map');
  await tab.key('0');
  check(await zoom() === 1, 'the key 0 shows all');
  await tab.evaluate("document.querySelector('#legend button').focus()");
  await changes(['#map-canvas'], () => tab.key(' '), 'the space bar on the legend');
  await changes(['#map-canvas'], () => tab.key(' '), 'the space bar again');

  // Sliders and choices.
  const slide = (id, value) => tab.evaluate(`(() => { const s = document.querySelector('#${id}'); s.value = ${value};
    s.dispatchEvent(new Event('input', { bubbles: true })); })()`);
  await slide('walk-step', 0);
  await changes(['#walk-view', '#walk-place'], () => slide('walk-step', 7), 'the slider of walks');
  await tab.evaluate("document.querySelector('#walk-step').focus()");
  await changes(['#walk-view', '#walk-place'], () => tab.key('ArrowRight'), 'an arrow key on it');
  const choose = (id, value) => tab.evaluate(`(() => { const s = document.querySelector('#${id}'); s.value = ${value};
    s.dispatchEvent(new Event('change', { bubbles: true })); })()`);
  await changes(['#walk-view'], () => choose('walk-to', 2), 'another cluster to walk to');
  await changes(['#walk-view'], () => choose('walk-from', 1), 'another cluster to walk from');
  await choose('walk-to', 1);
  check(await tab.evaluate("document.querySelector('#walk-from').value !== '1'"), 'a walk has two ends');
  await slide('denoise-components', 0);
  const range = await tab.evaluate("Number(document.querySelector('#denoise-components').max)");
  for (let value = 1; value <= range; value += 1) {
    // The last components of a small code may change nothing that can be seen.
    const places = value < 3 ? ['#denoise-view', '#denoise-count', '#denoise-text'] : ['#denoise-count', '#denoise-text'];
    await changes(places, () => slide('denoise-components', value), `denoising, step ${value},`);
  }
  if (await tab.evaluate("!document.querySelector('#denoise-row-label').hidden")) {
    await changes(['#denoise-view'], () => choose('denoise-row', 1), 'another row to denoise');
  }

  // Kernels.
  for (const id of ['kernel-prior', 'kernel-codes']) {
    const box = await tab.box(`#${id}`);
    await tab.mouse('mouseMoved', box.x + 0.8 * box.width, box.y + 0.3 * box.height);
    await changes(['#kernel-text', '#kernel-view', '#kernel-prior', '#kernel-codes'],
      () => tab.mouse('mouseMoved', box.x + 0.4 * box.width, box.y + 0.7 * box.height), `hovering over ${id}`);
    await tab.evaluate(`document.querySelector('#${id}').focus()`);
    await changes(['#kernel-text'], () => tab.key('ArrowDown'), `an arrow key on ${id}`);
  }
  const named = await tab.evaluate("document.querySelector('#kernel-text').textContent");
  check(/row \d+.* and row \d+/.test(named) && /Prior: /.test(named) && /Codes: /.test(named), `the pair and both values are named: ${named}`);

  // Worst rows lead to the map.
  for (const list of ['worst-rows', 'misaligned-rows']) {
    const name = await tab.evaluate(`document.querySelector('#${list} .card:nth-child(3) .title').textContent`);
    await tab.click(`#${list} .card:nth-child(3)`);
    const text = await tab.evaluate("document.querySelector('#row-text').textContent");
    check(name.startsWith('row ') && text.startsWith(`${name};`), `a card of ${list} shows its row on the map: ${name}`);
  }
  check(tab.errors.length === 0, `still no errors on the console: ${tab.errors.join('; ')}`);

  // Names from data are text. The pages of the tests have names that would add elements or run.
  const injected = await tab.evaluate("document.querySelectorAll('body b.injected, body img').length + (window.injected ? 1 : 0)");
  check(injected === 0, 'no name from the data became an element or ran');
  const html = readFileSync(page, 'utf8');
  if (html.includes('injected')) {
    const texts = await tab.evaluate("[document.title, document.querySelector('h1').textContent, document.querySelector('#legend').textContent, document.querySelector('#row').textContent].join(' ')");
    check(texts.includes('class=injected'), 'names that look like HTML are shown as they are');
  }
  await tab.close();

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
  for (const id of ['map', 'walks', 'denoising', 'kernels', 'worst']) {
    check(await count(still, `#${id} .still svg, #${id} .still table`) > 0, `without JavaScript #${id} has its figure`);
  }
  check(await count(still, '#training svg') >= 2, 'without JavaScript there are training curves');
  check(await count(still, '.live') === 0, 'and no dead controls');
  await still.close();
  const paper = await browser.open(url);
  await paper.until("document.documentElement.dataset.ready === 'true'");
  await paper.call('Emulation.setEmulatedMedia', { media: 'print' });
  check(await count(paper, '#map .still svg') === 1 && await count(paper, '.live') === 0, 'paper has the figures');
  console.log(`${checks} checks`);
} finally {
  await browser.quit();
}
