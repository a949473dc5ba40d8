// Opens example pages in Chromium and uses them.
//   node page_test.mjs EXAMPLE_PAGES DIRECTORY [PICTURES]
// Exit 77 where there is no Chromium. With PICTURES, pictures of pages go to that directory.
import assert from 'node:assert/strict';
import {execFileSync, spawnSync} from 'node:child_process';
import {mkdirSync, statSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';

import {Browser, Page} from './browser.mjs';

const kSkipped = 77;
const [examples, directory, pictures] = process.argv.slice(2);

function findBrowser() {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  return names.find((name) => spawnSync(name, ['--version']).status === 0);
}

// --- What is looked at, in the page --------------------------------------------------------------

const firstNames = () =>
  [...document.querySelectorAll('#table tbody tr')].map((row) => row.firstChild.textContent);
const sections = () =>
  [...document.querySelectorAll('main > section')].filter((s) => !s.hidden).map((s) => s.id);
const plots = () => [...document.querySelectorAll('#charts .plot')].map(({plot}) => ({
  series: plot.series.length - 1,
  shown: plot.series.slice(1).filter((series) => series.show).length,
  points: plot.data.slice(1).map((ys) => ys.filter((y) => typeof y === 'number').length),
  xMax: plot.scales.x.max,
  isLog: plot.scales.y.distr === 3,
  isLogX: plot.scales.x.distr === 3,
}));
const notePlots = () => [...document.querySelectorAll('#notes-code .plot')].map(({plot}) => ({
  names: plot.series.slice(1).map((series) => series.label),
  points: plot.data.slice(1).map((ys) => ys.filter((y) => typeof y === 'number').length),
  x: [plot.scales.x.min, plot.scales.x.max].map(Math.round),
  yMax: plot.scales.y.max,
}));
// How many pixels of a stack each part has.
const pixelsOfParts = () => {
  const canvas = document.querySelector('#notes-code .plot canvas');
  const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const counts = new Map();
  for (let i = 0; i < data.length; i += 4) {
    const colour = data.slice(i, i + 3).join(' ');
    if (data[i + 3] === 255) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const wanted = [...Array(6).keys()].map((part) => {
    const [, ...hex] = styleValue(`--row-${part}`).match(/#(..)(..)(..)/);
    return hex.map((each) => parseInt(each, 16)).join(' ');
  });
  return wanted.map((colour) => counts.get(colour) ?? 0);
};
// How many pixels of each canvas have something on them.
const inkOfCanvases = () => [...document.querySelectorAll('.plot canvas')].map((canvas) => {
  const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let ink = 0;
  for (let i = 3; i < data.length; i += 4) if (data[i] > 0) ink++;
  return ink;
});
const clickText = (selector, text) => {
  const all = [...document.querySelectorAll(selector)];
  all.find((element) => element.textContent.startsWith(text)).click();
};
const overflow = () => document.documentElement.scrollWidth - innerWidth;
const settled = () =>
  new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

// --- The claims ----------------------------------------------------------------------------------

const claims = {
  async 'curves of all runs are drawn'(open) {
    const page = await open('network');
    assert.deepEqual(await page.run(sections), ['results', 'curves', 'time']);
    const [accuracy, testLoss, loss, ...rest] = await page.run(plots);
    assert.deepEqual(rest, []);
    assert.equal(loss.series, 2 * 7, 'raw lines and smoothed curves');
    assert.ok(loss.points.every((count) => count > 300 && count <= 600), String(loss.points));
    // The first evaluation is at 0 bytes, which a logarithmic axis does not have.
    for (const chart of [testLoss, accuracy]) assert.deepEqual(chart.points, Array(7).fill(20));
    await page.run(clickText, '#axes button', 'Steps');
    const [accuracyBySteps, testLossBySteps] = await page.run(plots);
    for (const chart of [testLossBySteps, accuracyBySteps]) {
      assert.deepEqual(chart.points, Array(7).fill(21));
    }
    assert.ok((await page.run(inkOfCanvases)).every((ink) => ink > 2000));
  },

  async 'a comparison begins with its result, and hides its configuration'(open) {
    const page = await open('network');
    const headline = await page.run(() => document.getElementById('headline').textContent);
    assert.match(headline, /: [0-9.]+ times fewer bytes than none, .* at 100 Mbit\/s \(predicted\)\.$/);
    assert.equal(await page.run(() => document.getElementById('configuration').open), false);
  },

  async 'a click on a heading sorts, and a second one turns the order'(open) {
    const page = await open('network');
    const before = await page.run(firstNames);
    await page.run(clickText, '#table thead button', 'MB sent');
    const sorted = await page.run(firstNames);
    assert.notDeepEqual(sorted, before);
    assert.equal(sorted[0], 'sasg(topk(1%))');
    assert.equal(sorted.at(-1), 'none');
    const heading = () => document.querySelector('[aria-sort="ascending"]')?.textContent;
    assert.equal(await page.run(heading), 'MB sent');
    await page.run(clickText, '#table thead button', 'MB sent');
    const turned = await page.run(firstNames);
    assert.equal(turned[0], 'none');
    assert.equal(turned.at(-1), 'sasg(topk(1%))');
  },

  async 'headings sort by the keyboard'(open) {
    const page = await open('network');
    await page.run(() => document.querySelector('#table thead .number button').focus());
    await page.pressEnter();
    const sorted = () =>
      document.querySelectorAll('[aria-sort]:not([aria-sort="none"])').length;
    assert.equal(await page.run(sorted), 1);
  },

  async 'the axis switch changes all charts'(open) {
    const page = await open('network');
    const axes = () =>
      [...document.querySelectorAll('#axes button:not(.quiet)')].map((each) => each.textContent);
    const names = await page.run(axes);
    assert.deepEqual(names, ['Steps', 'MB sent', 'Measured time', 'At 100 Mbit/s', 'At 1 Gbit/s',
      'At 10 Gbit/s']);
    const seen = new Set();
    for (const name of names) {
      await page.run(clickText, '#axes button', name);
      const charts = await page.run(plots);
      assert.equal(new Set(charts.map((chart) => chart.xMax)).size, 1);
      assert.ok(charts.every((chart) => chart.points.every((count) => count > 10)));
      seen.add(charts[0].xMax);
    }
    assert.equal(seen.size, names.length);
  },

  async 'bytes are on a logarithmic axis until the switch is used'(open) {
    const page = await open('network');
    const kinds = async () => (await page.run(plots)).map((chart) => chart.isLogX);
    assert.deepEqual(await kinds(), [true, true, true]);
    await page.run(clickText, '#axes button', 'Steps');
    assert.deepEqual(await kinds(), [false, false, false]);
    await page.run(clickText, '#axes button', 'MB sent');
    assert.deepEqual(await kinds(), [true, true, true]);
    await page.run(() => document.getElementById('log-x').click());
    assert.deepEqual(await kinds(), [false, false, false]);
  },

  async 'labels of logarithmic axes are round, however the data begins'(open) {
    for (const name of ['network', 'convex', 'seeds']) {
      const page = await open(name);
      const labels = await page.run(() =>
        [...document.querySelectorAll('#charts .plot')].flatMap(({plot}) =>
          plot.axes.filter(({scale}) => plot.scales[scale].distr === 3).map((axis) =>
            axis._splits.filter((value, i) => axis._values[i] !== ''))));
      assert.ok(labels.length > 0, name);
      for (const values of labels) {
        assert.ok(values.length >= 2, `${name}: ${values}`);
        for (const value of values) assert.equal(value, Number(value.toPrecision(2)), name);
      }
      const places = [[1.97021, 340], [1.97021, 7.2], [3.1, 3.9], [4e-13, 2], [7, 7]];
      for (const [min, max] of places) {
        const found = await page.run((a, b) => logPlaces(a, b), min, max);
        assert.ok(found.length > 0 && found.every((value) => value >= min && value <= max));
        assert.ok(found.every((value) => value === Number(value.toPrecision(2))), String(found));
      }
    }
  },

  async 'dragging over a chart zooms all in, and a double click shows all again'(open) {
    const page = await open('network');
    const ranges = () => [...document.querySelectorAll('.plot')].map(({plot}) =>
      [plot.scales.x.min, plot.scales.x.max].map(Math.round));
    await page.run(clickText, '#axes button', 'Steps');
    const all = Array(3).fill([0, 2000]);
    assert.deepEqual(await page.run(ranges), all);
    await page.run(() => document.querySelector('.plot').scrollIntoView({block: 'center'}));
    await page.drag('.u-over', 0.25, 0.5);
    await page.run(settled);
    for (const [min, max] of await page.run(ranges)) {
      assert.ok(Math.abs(min - 500) < 20 && Math.abs(max - 1000) < 20, `${min} to ${max}`);
    }
    const doubleClick = () =>
      document.querySelector('.u-over').dispatchEvent(new MouseEvent('dblclick'));
    await page.run(doubleClick);
    await page.run(settled);
    assert.deepEqual(await page.run(ranges), all);
  },

  async 'the legend hides a run in all charts, on every axis'(open) {
    const page = await open('network');
    await page.run(clickText, '#legend button', 'none');
    const shown = async () => (await page.run(plots)).map((chart) => chart.shown);
    assert.deepEqual(await shown(), [6, 6, 2 * 6]);
    await page.run(clickText, '#axes button', 'Steps');
    assert.deepEqual(await shown(), [6, 6, 2 * 6]);
  },

  async 'hovering shows the values of all runs'(open) {
    const page = await open('network');
    await page.run(clickText, '#axes button', 'Steps');
    const [x, y] = await page.run(() => {
      document.querySelector('.plot').scrollIntoView({block: 'center'});
      const {left, top, width, height} = document.querySelector('.u-over').getBoundingClientRect();
      return [left + width / 2, top + height / 2];
    });
    await page.hover(x - 5, y);
    await page.hover(x, y);
    await page.run(settled);
    const tip = await page.run(() => document.getElementById('tip').innerText);
    assert.match(tip, /steps/);
    assert.match(tip, /powersgd\(rank=4\)\s+\d+\.\d+ %/);
    assert.equal(await page.run(() => document.querySelectorAll('#tip tr').length), 7);
  },

  async 'a gap is drawn on a logarithmic axis, and the switch changes it'(open) {
    const page = await open('convex');
    const headings = () =>
      [...document.querySelectorAll('#table thead tr:last-child th')].map((th) => th.textContent);
    const names = await page.run(headings);
    assert.ok(names.includes('Gap') && !names.includes('Accuracy') && !names.includes('Test loss'));
    assert.deepEqual((await page.run(plots)).map((chart) => chart.isLog), [true, false]);
    await page.run(() => document.querySelectorAll('.chart .quiet')[0].click());
    assert.deepEqual((await page.run(plots)).map((chart) => chart.isLog), [false, false]);
  },

  async 'a dark page is dark, and the button makes it light'(open) {
    const page = await open('network', {dark: true});
    const colours = () => ({
      paper: getComputedStyle(document.body).backgroundColor,
      curve: document.querySelector('.plot').plot.series[1].stroke(),
    });
    const dark = await page.run(colours);
    assert.equal(dark.paper, 'rgb(18, 20, 25)');
    assert.ok((await page.run(inkOfCanvases)).every((ink) => ink > 2000));
    await page.run(() => document.getElementById('theme').click());
    const light = await page.run(colours);
    assert.equal(light.paper, 'rgb(246, 245, 242)');
    assert.notEqual(light.curve, dark.curve);
    await page.run(() => localStorage.clear());
  },

  async 'names are texts, whatever they are, and numbers may be missing'(open) {
    const page = await open('hostile');
    assert.equal(await page.run(() => window.hostile), undefined);
    const names = await page.run(firstNames);
    assert.equal(names[0], '</script><script>window.hostile = 1</script>');
    assert.equal(names[1], "<img src=x onerror='window.hostile = 1'>");
    assert.equal(names[2], '<!--<script>');
    assert.equal(names[3], '"quotes" & \'more\' \\ \ufffd');
    assert.equal(await page.run(() => document.images.length), 0);
    assert.ok((await page.run(plots)).every((chart) => chart.points.every((count) => count > 0)));
    assert.deepEqual(await page.run(sections), ['results', 'curves', 'time', 'notes-plan', 'notes-code']);
  },

  async 'plans have a cell for each layer and plan'(open) {
    const page = await open('adaptive');
    const cells = () => document.querySelectorAll('.map .cell').length;
    assert.equal(await page.run(cells), (18 + 1) * 40);
  },

  async 'what a learned code sends is a stack of its parts above its error'(open) {
    const page = await open('learned');
    assert.deepEqual(await page.run(sections), ['results', 'curves', 'time', 'notes-code']);
    const [stack, error, ...rest] = await page.run(notePlots);
    assert.deepEqual(rest, []);
    // The highest is drawn first.
    assert.deepEqual(stack.names, ['full', 'last', 'dense', 'codes', 'values', 'places']);
    assert.ok(stack.points.every((count) => count === stack.points[0] && count <= 601));
    assert.ok(error.points[0] > 200);
    for (const {x} of [stack, error]) assert.deepEqual(x, [0, 2000]);
    for (const dark of [false, true]) {
      const drawn = await open('learned', {dark});
      const pixels = await drawn.run(pixelsOfParts);
      assert.ok(pixels.every((count) => count > 100), String(pixels));
    }
    const facts = await page.run(() => document.querySelector('.note-facts').innerText);
    assert.match(facts, /full, 20 steps\s+1\.63 MB a step/);
    assert.match(facts, /coded, 1,822 steps\s+6\.\d+ kB a step/);
    assert.match(facts, /mean error of coded steps\s+0\.2\d/);
  },

  async 'a note without a picture of its own is shown as it is'(open) {
    const page = await open('plain');
    assert.deepEqual(await page.run(sections), ['results', 'curves', 'time', 'notes-weather']);
    const text = await page.run(() => document.querySelector('#notes-weather').innerText);
    for (const part of [/step 50, the last of 50 notes/, /mean wind\s+25\.5 m\/s/, /is_wet\s+true/,
      /Ulm\s+3\.50 mm/, /Trier\s+0 mm/]) {
      assert.match(text, part);
    }
  },

  async 'phases are a strip above the stack'(open) {
    const page = await open('learned');
    const strengths = (steps) => {
      const {plot} = document.querySelector('#notes-code .plot');
      const {data} = plot.ctx.getImageData(0, plot.bbox.top - 8, plot.ctx.canvas.width, 1);
      return steps.map((step) => data[4 * Math.round(plot.valToPos(step, 'x', true)) + 3]);
    };
    const [full, sparse, coded] = await page.run(strengths, [10, 28, 1226]);
    assert.ok(0 < full && full < sparse && sparse < coded, `${full}, ${sparse}, ${coded}`);
  },

  async 'columns of full steps are cut unless their whole height is asked for'(open) {
    const page = await open('learned');
    const height = async () => (await page.run(notePlots))[0].yMax;
    const cut = await height();
    assert.ok(cut > 12_000 && cut < 20_000, String(cut));
    await page.run(clickText, '#notes-code button', 'whole height');
    assert.ok(await height() > 1_600_000);
    await page.run(clickText, '#notes-code button', 'whole height');
    assert.equal(await height(), cut);
  },

  async 'zooming in on full steps alone shows their height, in both charts'(open) {
    const page = await open('learned');
    await page.run(() =>
      document.querySelector('#notes-code .plot').plot.setScale('x', {min: 1, max: 15}));
    assert.ok((await page.run(notePlots))[0].yMax > 1_600_000);
    await page.run(() => document.querySelector('#notes-code .plot').scrollIntoView({block: 'center'}));
    await page.run(() =>
      document.querySelector('#notes-code .plot').plot.setScale('x', {min: 0, max: 2000}));
    await page.drag('#notes-code .u-over', 0.25, 0.5);
    await page.run(settled);
    const [stack, error] = await page.run(notePlots);
    assert.deepEqual(stack.x, error.x);
    assert.ok(Math.abs(stack.x[0] - 500) < 20 && Math.abs(stack.x[1] - 1000) < 20, `${stack.x}`);
  },

  async 'hovering over a stack shows its parts, their sum and the error'(open) {
    const page = await open('learned');
    for (const index of [0, 1]) {
      const [x, y] = await page.run((chart) => {
        const over = document.querySelectorAll('#notes-code .u-over')[chart];
        over.scrollIntoView({block: 'center'});
        const {left, top, width, height} = over.getBoundingClientRect();
        return [left + 0.613 * width, top + height / 2];
      }, index);
      await page.hover(x - 5, y);
      await page.hover(x, y);
      await page.run(settled);
      const tip = await page.run(() => document.getElementById('tip').innerText);
      assert.match(tip, /^steps 1,2\d\d to 1,2\d\d, coded/);
      assert.match(tip, /codes\s+1\.\d+ kB/);
      assert.match(tip, /together\s+6\.\d+ kB/);
      assert.match(tip, /error\s+0\.\d+/);
      assert.doesNotMatch(tip, /values|full/);
    }
  },

  async 'members of an elastic run have a lane each, and changes a mark'(open) {
    const page = await open('elastic');
    assert.deepEqual(await page.run(sections), ['results', 'curves', 'time', 'members']);
    const found = await page.run(() => ({
      lanes: document.querySelectorAll('#lanes .lane').length,
      changes: document.querySelectorAll('#lanes .lane-change').length,
      lost: document.querySelectorAll('#lanes .lane-lost').length,
      text: document.querySelector('#lanes .card-head').innerText,
    }));
    assert.deepEqual([found.lanes, found.changes, found.lost], [8, 12, 5]);
    assert.match(found.text, /8 members, 12 views, 5 lost; the slowest change took 40\.0 ms/);
  },

  async 'a run without steps has a page'(open) {
    assert.deepEqual(await (await open('empty')).run(sections), ['results']);
    assert.deepEqual(await (await open('no-runs')).run(sections), []);
  },

  async 'eight runs of 20,000 steps are a small page that is there at once'(open) {
    const page = await open('large');
    assert.ok(statSync(join(directory, 'large.html')).size < 1_500_000);
    const ms = await page.run(() =>
      performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd);
    assert.ok(ms < 5000, `${ms} ms`);
    assert.deepEqual((await page.run(plots)).map((chart) => chart.series), [8, 8, 2 * 8]);
  },

  async 'seeds of a method are one row, one colour and one place in the legend'(open) {
    const page = await open('seeds');
    assert.deepEqual(await page.run(firstNames), ['none', 'natural', 'ef(topk(1%) | natural)']);
    const names = () => [...document.querySelectorAll('#legend button')].map((b) => b.textContent);
    assert.equal((await page.run(names)).length, 3);
    const row = () => document.querySelectorAll('#table tbody tr')[2].innerText;
    assert.match(await page.run(row), /\d+\.\d\d % ± \d+\.\d\d/);
    await page.run(clickText, '#legend button', 'natural');
    assert.deepEqual((await page.run(plots)).map((chart) => chart.shown), [6, 6, 2 * 6]);
    const lead = await page.run(() => document.getElementById('lead').textContent);
    assert.equal(lead, '3 methods side by side, 9 runs with different seeds');
  },

  async 'a narrow table has method, accuracy, difference, ratio and speed-up'(open) {
    const page = await open('network', {width: 400, height: 800});
    const headings = () => [...document.querySelectorAll('#table thead tr:last-child th')]
      .filter((th) => th.offsetWidth > 0).map((th) => th.textContent);
    assert.deepEqual(await page.run(headings),
      ['Method', 'Accuracy', 'Difference', 'Ratio', 'Speed-up, 100 Mbit/s']);
    const fits = () => {
      const table = document.getElementById('table');
      return table.scrollWidth <= table.parentElement.clientWidth;
    };
    assert.ok(await page.run(fits));
    await page.run(() => document.querySelector('.narrow-only').click());
    assert.ok((await page.run(headings)).length > 10);
  },

  async 'a telephone shows all of it without scrolling sideways'(open) {
    for (const name of ['network', 'convex', 'adaptive', 'learned', 'plain', 'elastic', 'hostile',
      'seeds']) {
      const page = await open(name, {width: 375, height: 800});
      assert.ok(await page.run(overflow) <= 0, name);
    }
  },
};

// --- Running them --------------------------------------------------------------------------------

async function check(browser, claim) {
  const pages = [];
  await claim(async (name, options) => {
    const url = pathToFileURL(resolve(directory, `${name}.html`)).href;
    pages.push(await Page.open(browser, url, options));
    return pages.at(-1);
  });
  for (const page of pages) {
    assert.deepEqual(page.problems, []);
    await page.close();
  }
}

async function takePictures(browser) {
  mkdirSync(pictures, {recursive: true});
  for (const name of ['network', 'seeds', 'convex', 'adaptive', 'learned', 'plain', 'elastic']) {
    for (const options of [{}, {dark: true}, {width: 375, height: 800}]) {
      const page = await Page.open(browser, pathToFileURL(resolve(directory, `${name}.html`)).href,
        options);
      await page.run(settled);
      const kind = options.dark ? 'dark' : options.width ? 'telephone' : 'light';
      writeFileSync(join(pictures, `${name}-${kind}.png`), await page.picture());
      await page.close();
    }
  }
}

async function main() {
  const program = findBrowser();
  if (!program) {
    console.log('skipped: there is no Chromium; tools/bootstrap test installs it');
    return kSkipped;
  }
  execFileSync(examples, [directory]);
  const browser = new Browser(program);
  let failed = 0;
  try {
    for (const [name, claim] of Object.entries(claims)) {
      try {
        await check(browser, claim);
        console.log(`ok      ${name}`);
      } catch (error) {
        failed++;
        console.log(`FAILED  ${name}\n${error.stack}`);
      }
    }
    if (pictures) await takePictures(browser);
  } finally {
    await browser.close();
  }
  return failed ? 1 : 0;
}

process.exit(await main());
