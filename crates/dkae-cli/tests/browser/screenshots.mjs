// Pictures of every section of a page, for whoever changes it to look at: laptop and phone, light and dark, without
// JavaScript, and on paper.
//
//     node screenshots.mjs PAGE.html FOLDER [CHROMIUM]

import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { launch } from './chromium.mjs';

const [page, folder, chromium = 'chromium'] = process.argv.slice(2);
const url = pathToFileURL(resolve(page)).href;
mkdirSync(folder, { recursive: true });
const devices = [['laptop', { width: 1366, height: 768 }], ['phone', { width: 390, height: 844, mobile: true }]];
const browser = await launch(chromium);
try {
  for (const [device, size] of devices) {
    for (const scheme of ['light', 'dark']) {
      const tab = await browser.open(url, { ...size, scheme });
      await tab.until("document.documentElement.dataset.ready === 'true'");
      for (const section of ['header', ...await tab.evaluate("[...document.querySelectorAll('section')].map((s) => '#' + s.id)")]) {
        writeFileSync(join(folder, `${device}-${scheme}-${section.replace('#', '')}.png`), await tab.screenshot(section));
      }
      await tab.close();
    }
  }
  for (const [device, size] of devices) {
    const still = await browser.open(url, { ...size, script: false });
    writeFileSync(join(folder, `${device}-no-script.png`), await still.screenshot());
    await still.close();
  }
  const paper = await browser.open(url, { scheme: 'dark' });
  await paper.until("document.documentElement.dataset.ready === 'true'");
  const { data } = await paper.call('Page.printToPDF', { printBackground: true });
  writeFileSync(join(folder, 'paper.pdf'), Buffer.from(data, 'base64'));
} finally {
  await browser.quit();
}
