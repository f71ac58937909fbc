// A headless Chromium, driven over its debugging pipe: no package is needed for that. Commands go in and answers and
// events come out as JSON, each ended by a zero byte (https://chromedevtools.github.io/devtools-protocol/).

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export async function launch(program) {
  const profile = mkdtempSync(join(tmpdir(), 'dkae-browser-'));
  const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--hide-scrollbars',
    '--no-first-run', '--force-color-profile=srgb', '--remote-debugging-pipe', `--user-data-dir=${profile}`, 'about:blank'];
  const child = spawn(program, flags, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const [input, output] = [child.stdio[3], child.stdio[4]];
  const waiting = new Map();
  const listeners = new Set();
  let [last, rest] = [0, ''];
  const fail = (error) => { waiting.forEach(({ reject }) => reject(error)); waiting.clear(); };
  child.on('error', fail);
  child.on('exit', (code) => fail(new Error(`the browser ended with ${code}`)));
  input.on('error', fail);
  output.setEncoding('utf8');
  output.on('data', (text) => {
    const parts = (rest + text).split('\0');
    rest = parts.pop();
    for (const message of parts.map((part) => JSON.parse(part))) {
      const asked = waiting.get(message.id);
      if (!asked) listeners.forEach((listen) => listen(message));
      else if (message.error) asked.reject(new Error(`${asked.method}: ${message.error.message}`));
      else asked.resolve(message.result);
      waiting.delete(message.id);
    }
  });
  const send = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
    last += 1;
    waiting.set(last, { resolve, reject, method });
    input.write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
  });

  async function open(url, { width = 1280, height = 900, mobile = false, scheme = 'light', script = true } = {}) {
    const { targetId } = await send('Target.createTarget', { url: 'about:blank' });
    const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
    const call = (method, params) => send(method, params, sessionId);
    const errors = [];
    const requests = [];
    let loaded;
    const load = new Promise((resolve) => { loaded = resolve; });
    listeners.add(({ sessionId: own, method, params }) => {
      if (own !== sessionId) return;
      if (method === 'Page.loadEventFired') loaded();
      if (method === 'Runtime.exceptionThrown') errors.push(params.exceptionDetails.exception?.description || params.exceptionDetails.text);
      if (method === 'Runtime.consoleAPICalled' && ['error', 'warning', 'assert'].includes(params.type)) {
        errors.push(params.args.map((a) => a.value || a.description).join(' '));
      }
      if (method === 'Log.entryAdded' && ['error', 'warning'].includes(params.entry.level)) errors.push(params.entry.text);
      if (method === 'Network.requestWillBeSent' && !params.request.url.startsWith('data:')) requests.push(params.request.url);
    });
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await call(`${domain}.enable`);
    await call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: mobile ? 2 : 1, mobile });
    await call('Emulation.setTouchEmulationEnabled', { enabled: mobile });
    await call('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value: scheme }, { name: 'prefers-reduced-motion', value: 'reduce' }] });
    await call('Emulation.setScriptExecutionDisabled', { value: !script });
    await call('Page.navigate', { url });
    await load;

    // The value of an expression in the page; promises are waited for.
    const evaluate = async (expression) => {
      const { result, exceptionDetails } = await call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
      if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description || exceptionDetails.text}`);
      return result.value;
    };
    const until = async (expression) => {
      for (let i = 0; i < 200; i += 1) {
        if (await evaluate(expression)) return;
        await new Promise((resolve) => { setTimeout(resolve, 50); });
      }
      throw new Error(`never came true: ${expression}`);
    };
    const mouse = (type, x, y, more = {}) => call('Input.dispatchMouseEvent', { type, x, y, ...more });
    const key = async (name, modifiers = 0) => {
      const text = name.length === 1 ? name : undefined;
      await call('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', key: name, text, modifiers, code: name,
        windowsVirtualKeyCode: { ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, Tab: 9, ' ': 32, Enter: 13 }[name] });
      await call('Input.dispatchKeyEvent', { type: 'keyUp', key: name, modifiers, code: name });
    };
    // Where an element is on the screen, once it has been scrolled into view.
    const box = async (selector) => {
      await evaluate(`document.querySelector(${JSON.stringify(selector)}).scrollIntoView({ block: 'center', behavior: 'instant' })`);
      return evaluate(`(() => { const b = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect();
        return { x: b.x, y: b.y, width: b.width, height: b.height }; })()`);
    };
    const click = async (selector) => {
      const { x, y, width, height } = await box(selector);
      const at = [x + width / 2, y + height / 2];
      await mouse('mouseMoved', ...at);
      await mouse('mousePressed', ...at, { button: 'left', clickCount: 1 });
      await mouse('mouseReleased', ...at, { button: 'left', clickCount: 1 });
    };
    const screenshot = async (selector) => {
      const clip = selector && await evaluate(`(() => { const b = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect();
        return { x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height, scale: 1 }; })()`);
      const { data } = await call('Page.captureScreenshot', { format: 'png', captureBeyondViewport: true, clip });
      return Buffer.from(data, 'base64');
    };
    const close = () => send('Target.closeTarget', { targetId });
    return { call, errors, requests, evaluate, until, mouse, key, box, click, screenshot, close };
  }

  async function quit() {
    const ended = new Promise((resolve) => { child.once('exit', resolve); });
    child.kill();
    await ended;
    try {
      rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    } catch {
      // A helper of the browser may still be writing there; the system clears its temporary files.
    }
  }
  return { open, quit };
}
