// Opens the page of runs that go on in Chromium.
//   node watch_page_test.mjs GRADWIRE [PICTURES]
// Exit 77 where there is no Chromium. With PICTURES, pictures of pages go to that directory.
import assert from 'node:assert/strict';
import {spawn, spawnSync} from 'node:child_process';
import {mkdirSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

import {Browser, Page} from '../../report/page_test/browser.mjs';
import {LiveRun, sleep, startWatch} from './live_run.mjs';

const kSkipped = 77;
const kPatienceMs = 20_000;  // beside other work; what is measured is measured elsewhere
const [program, pictures] = process.argv.slice(2);
const directory = mkdtempSync(join(tmpdir(), 'gradwire-watch-'));

// --- What is looked at, in the page --------------------------------------------------------------

const steps = () =>
  [...document.querySelectorAll('.live-step')].map((each) => Number(each.dataset.step));
const phases = () => [...document.querySelectorAll('.live-phase')].map((each) => each.textContent);
const message = () => document.getElementById('live-message').textContent;
const points = () => [...document.querySelectorAll('#charts .plot')].map(({plot}) =>
  plot.data[1].filter((y) => typeof y === 'number').length);
// Of the training loss, which is known for every step.
const lastStep = () =>
  [...document.querySelectorAll('#charts .plot')].at(-1)?.plot.data[0].at(-1);

async function until(page, look, is) {
  const end = Date.now() + kPatienceMs;
  for (;;) {
    const found = await page.run(look);
    if (is(found)) return found;
    if (Date.now() > end) assert.fail(`waited in vain; the last was ${JSON.stringify(found)}`);
    await sleep(50);
  }
}

// --- The claims ----------------------------------------------------------------------------------

const claims = {
  async 'step and curves grow with the record'(place, open) {
    const run = new LiveRun(place);
    run.add(10);
    const page = await open([place]);
    await until(page, steps, ([step]) => step === 10);
    assert.deepEqual(await page.run(points), [10]);
    run.add(90);
    await until(page, steps, ([step]) => step === 100);
    await until(page, points, (counts) => counts.length === 3 && counts.at(-1) === 100);
    run.addText('{"step": 101, "lo');
    run.add(0);
    await sleep(1500);
    assert.deepEqual(await page.run(steps), [100]);
    assert.deepEqual(await page.run(phases), ['running']);
    const text = await page.run(() => document.getElementById('facts').textContent);
    assert.match(text, /Links\s*1 Gbit\/s, 1 Gbit\/s, 1 Gbit\/s, 100 Mbit\/s/);
  },

  async 'a page that waits shows runs that begin later, side by side'(place, open) {
    const page = await open([place]);
    await until(page, message, (text) => text.startsWith('no run yet in '));
    const first = new LiveRun(join(place, 'none'), {method: 'none'});
    await until(page, phases, ([phase]) => phase === 'waiting for the first step');
    first.add(60);
    await until(page, steps, ([step]) => step === 60);
    first.finish();
    await until(page, phases, ([phase]) => phase === 'finished');
    new LiveRun(join(place, 'natural'), {method: 'natural'}).add(30);
    await until(page, steps, (all) => all.length === 2 && all[1] === 30);
    const series = () => document.querySelector('#charts .plot').plot.series.length;
    await until(page, series, (count) => count === 3);
    assert.equal(await page.run(() => document.querySelectorAll('#table tbody tr').length), 2);
  },

  async 'what was chosen stays when the record grows'(place, open) {
    const first = new LiveRun(join(place, 'a'), {method: 'none'});
    const second = new LiveRun(join(place, 'b'), {method: 'natural', noted: true});
    first.add(100);
    second.add(100);
    const page = await open([place]);
    await until(page, steps, (all) => all.length === 2);
    await page.run(() => {
      const click = (selector, text) => [...document.querySelectorAll(selector)]
        .find((each) => each.textContent.startsWith(text)).click();
      click('#axes button', 'Steps');
      click('#legend button', 'none');
      click('#table thead button', 'MB sent');
      document.querySelector('#charts .plot').plot.setScale('x', {min: 20, max: 40});
      document.querySelector('#notes-code .plot').plot.setScale('x', {min: 20, max: 40});
    });
    second.add(100);
    await until(page, lastStep, (step) => step === 200);
    const kept = await page.run(() => ({
      zoom: ['#charts', '#notes-code'].map((place) => {
        const {min, max} = document.querySelector(`${place} .plot`).plot.scales.x;
        return [min, max];
      }),
      shown: document.querySelector('#charts .plot').plot.series[1].show,
      axis: document.querySelector('#axes [aria-pressed="true"]').textContent,
      sorted: document.querySelector('[aria-sort="ascending"]').textContent,
    }));
    assert.deepEqual(kept, {zoom: [[20, 40], [20, 40]], shown: false, axis: 'Steps',
      sorted: 'MB sent'});
  },

  async 'a resumed run goes back, and on'(place, open) {
    const run = new LiveRun(place);
    run.add(100);
    const page = await open([place]);
    await until(page, steps, ([step]) => step === 100);
    run.cutBack(60);
    await until(page, steps, ([step]) => step === 60);
    await until(page, lastStep, (step) => step === 60);
    run.add(100);
    await until(page, lastStep, (step) => step === 160);
  },

  async 'the members of an elastic run are lanes that grow'(place, open) {
    const run = new LiveRun(place);
    const view = (number, step, names, joined, departed) => JSON.stringify({view: number, step,
      members: names.map((id) => ({id, address: 'host:1'})), joined, departed, change_ms: 12,
      text: ''}) + '\n';
    writeFileSync(join(place, 'views.jsonl'), view(1, 0, ['a1'], ['a1'], []));
    run.add(20);
    const page = await open([place]);
    const lanes = () => document.querySelectorAll('#lanes .lane').length;
    await until(page, lanes, (count) => count === 1);
    writeFileSync(join(place, 'views.jsonl'), view(2, 20, ['a1', 'b2'], ['b2'], []), {flag: 'a'});
    run.add(5);
    await until(page, lanes, (count) => count === 2);
  },

  async 'a page with a token asks without showing it'(place, open) {
    const run = new LiveRun(place);
    run.add(10);
    const token = join(directory, 'token');
    writeFileSync(token, '0123456789abcdef\n', {mode: 0o600});
    const page = await open([place], ['--token-file', token]);
    await until(page, steps, ([step]) => step === 10);
    assert.doesNotMatch(await page.run(() => location.href), /token/);
    assert.equal(await page.run(() => document.cookie), '');
  },

  async 'the page of a real run is there from its beginning to its end'(place, open) {
    const page = await open([place]);
    const train = spawn(program, ['train', '--model', 'logistic', '--data', 'generated', '--method',
      'natural', '--workers', '2', '--steps', '3000', '--out', place], {stdio: 'ignore'});
    const ended = new Promise((resolve) => train.on('exit', resolve));
    await until(page, phases, ([phase]) => phase === 'finished');
    assert.equal(await ended, 0);
    assert.deepEqual(await page.run(steps), [3000]);
    await until(page, lastStep, (step) => step === 3000);
  },

  async 'a telephone shows all of it without scrolling sideways'(place, open) {
    new LiveRun(place, {method: 'ef(topk(1%) | natural)', noted: true}).add(500);
    const page = await open([place], [], {width: 375, height: 800});
    await until(page, steps, ([step]) => step === 500);
    assert.ok(await page.run(() => document.documentElement.scrollWidth - innerWidth) <= 0);
  },
};

// --- Running them --------------------------------------------------------------------------------

function findBrowser() {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  return names.find((name) => spawnSync(name, ['--version']).status === 0);
}

async function check(browser, name, claim) {
  const place = join(directory, name.replaceAll(/\W+/g, '-'));
  const opened = [];
  const open = async (places, options = [], look = {}) => {
    const watch = await startWatch(program, places, options);
    opened.push({watch});
    opened.at(-1).page = await Page.open(browser, watch.url,
      {...look, mayAsk: watch.url.replace(/\?.*/, '')});
    return opened.at(-1).page;
  };
  try {
    await claim(place, open);
    for (const {page} of opened) assert.deepEqual(page.problems, []);
  } finally {
    for (const {page, watch} of opened) {
      await page?.close();
      assert.equal(await watch.close(), 0);
    }
  }
}

async function takePictures(browser) {
  mkdirSync(pictures, {recursive: true});
  const place = join(directory, 'pictures');
  const first = new LiveRun(join(place, 'none'), {method: 'none', planned: 4000});
  first.add(4000);
  first.finish();
  new LiveRun(join(place, 'lgc'), {method: 'lgc', planned: 4000, noted: true}).add(2300);
  const watch = await startWatch(program, [place]);
  for (const options of [{}, {dark: true}, {width: 400, height: 800}]) {
    const page = await Page.open(browser, watch.url, {...options, mayAsk: watch.url});
    await until(page, steps, (all) => all.length === 2);
    const kind = options.dark ? 'dark' : options.width ? 'narrow' : 'light';
    writeFileSync(join(pictures, `watch-${kind}.png`), await page.picture());
    await page.close();
  }
  await watch.close();
}

async function main() {
  const name = findBrowser();
  if (!name) {
    console.log('skipped: there is no Chromium; tools/bootstrap test installs it');
    return kSkipped;
  }
  const browser = new Browser(name);
  let failed = 0;
  try {
    for (const [what, claim] of Object.entries(claims)) {
      try {
        await check(browser, what, claim);
        console.log(`ok      ${what}`);
      } catch (error) {
        failed++;
        console.log(`FAILED  ${what}\n${error.stack}`);
      }
    }
    if (pictures) await takePictures(browser);
  } finally {
    await browser.close();
    rmSync(directory, {recursive: true, force: true});
  }
  return failed ? 1 : 0;
}

process.exit(await main());
