// Measures the live page: how long after the record grew the page shows it, and the memory of the
// server and of the page while a run goes on.
//   node tools/watch-memory.mjs [GRADWIRE] [MINUTES] [STEPS_PER_SECOND]
import {spawnSync} from 'node:child_process';
import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const top = join(dirname(fileURLToPath(import.meta.url)), '..');
const {Browser, Page} = await import(join(top, 'report/page_test/browser.mjs'));
const {LiveRun, sleep, startWatch} = await import(join(top, 'watch/page_test/live_run.mjs'));

const [program = join(top, 'build/gradwire'), minutes = 10, perSecond = 100] = process.argv.slice(2);
const kWarmUpSeconds = 60;  // until the page has as many points as it will ever have

const directory = mkdtempSync(join(tmpdir(), 'gradwire-watch-'));
const run = new LiveRun(join(directory, 'run'),
  {method: 'lgc', planned: Math.round(60 * minutes * perSecond), noted: true});
run.add(5000);
const watch = await startWatch(program, [run.directory]);
const browser = new Browser(['chromium', 'chromium-browser', 'google-chrome']
  .find((name) => spawnSync(name, ['--version']).status === 0));
const page = await Page.open(browser, watch.url, {mayAsk: watch.url});

const kilobytes = (pid) =>
  Number(readFileSync(`/proc/${pid}/status`, 'utf8').match(/VmRSS:\s+(\d+)/)[1]);
const shown = () => Number(document.querySelector('.live-step')?.dataset.step ?? 0);

async function heap() {
  await page.call('HeapProfiler.collectGarbage');
  const {usedSize} = await page.call('Runtime.getHeapUsage');
  const {nodes} = await page.call('Memory.getDOMCounters');
  return {usedSize, nodes};
}

// Seconds from a step in the record to that step on the page.
async function delay() {
  run.add(1);
  const wanted = run.step;
  const begin = performance.now();
  while (await page.run(shown) < wanted) await sleep(10);
  return (performance.now() - begin) / 1e3;
}

console.log('seconds   steps  server MB  page heap MB  DOM nodes  delay s');
const begin = performance.now();
const samples = [];
let nextSample = 0;
for (;;) {
  const seconds = (performance.now() - begin) / 1e3;
  const due = Math.floor(seconds * perSecond) + 5000 - run.step;
  if (due > 0) run.add(due);
  if (seconds >= nextSample) {
    nextSample += 30;
    const late = await delay();
    const {usedSize, nodes} = await heap();
    const sample = {seconds, server: kilobytes(watch.process.pid) / 1024, heap: usedSize / 2 ** 20,
      nodes, late};
    samples.push(sample);
    console.log([seconds.toFixed(0).padStart(7), String(run.step).padStart(7),
      sample.server.toFixed(1).padStart(10), sample.heap.toFixed(2).padStart(13),
      String(nodes).padStart(10), late.toFixed(2).padStart(8)].join(' '));
  }
  if (seconds >= 60 * minutes) break;
  await sleep(200);
}
const warm = samples.filter(({seconds}) => seconds >= Math.min(kWarmUpSeconds, 30 * minutes));
const growth = (name) => warm.at(-1)[name] - warm[0][name];
console.log(`after the first ${warm[0].seconds.toFixed(0)} s: server ${growth('server').toFixed(1)} ` +
  `MB, page ${growth('heap').toFixed(2)} MB, ${growth('nodes')} nodes more; the longest delay was ` +
  `${Math.max(...samples.map(({late}) => late)).toFixed(2)} s; problems: ` +
  JSON.stringify(page.problems));
await browser.close();
await watch.close();
rmSync(directory, {recursive: true, force: true});
process.exit(page.problems.length > 0 ? 1 : 0);
