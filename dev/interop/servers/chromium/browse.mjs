#!/usr/bin/env node
// Opens a login in Chromium, fills in its forms, and writes what the last page shows into the file `INTEROP_SEEN`.
// With INTEROP_BROWSER=elsewhere nothing answers at the callback, as on another machine: its URL is what is written.
import { writeFileSync } from 'node:fs';
import chromium from '@sparticuz/chromium';
import puppeteer from 'puppeteer-core';

const say = (seen) => writeFileSync(process.env.INTEROP_SEEN, JSON.stringify(seen));
const isElsewhere = process.env.INTEROP_BROWSER === 'elsewhere';
const isCallback = (url) => new URL(url).pathname === '/callback';

async function start() {
  try {
    return await puppeteer.launch({ args: chromium.args, executablePath: await chromium.executablePath(), headless: 'shell' });
  } catch (error) {
    say({ skipped: String(error).split('\n')[0] });
    return process.exit();
  }
}

const browser = await start();
try {
  const page = await browser.newPage();
  let callback;
  page.on('response', (response) => {
    if (isCallback(response.url())) callback = { status: response.status(), headers: response.headers() };
  });
  if (isElsewhere) {
    await page.setRequestInterception(true);
    page.on('request', (request) => {
      if (!isCallback(request.url())) return request.continue();
      callback = { url: request.url() };
      return request.abort('connectionrefused');
    });
  }
  await page.goto(process.argv[2]);
  for (let step = 0; step < 10 && !callback; step += 1) {
    for (const name of ['login', 'password']) {
      const field = await page.$(`input[name=${name}]`);
      if (field) await field.type('admin');
    }
    // A page that does not answer, as elsewhere, ends the navigation with an error.
    await Promise.all([page.waitForNavigation().catch(() => {}), page.click('form button[type=submit]')]);
  }
  const text = isElsewhere ? '' : await page.evaluate(() => document.body.innerText);
  say({ version: await browser.version(), ...callback, text });
} catch (error) {
  say({ error: String(error) });
} finally {
  await browser.close();
}
