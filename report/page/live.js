// A page of runs that go on: asks the server for their states, and for a new document if there is
// one, once a second while somebody looks.
'use strict';

const kPollMs = 1000;
const kPollMsMax = 5000;  // while nobody answers

function durationText(seconds) {
  const whole = Math.round(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  if (hours > 0) return `${hours} h ${String(minutes).padStart(2, '0')} min`;
  return minutes > 0 ? `${minutes} min ${String(whole % 60).padStart(2, '0')} s` : `${whole} s`;
}

const phaseTexts = {
  waiting: () => 'waiting for the first step',
  reading: (run) => `reading the record, ${fixed(100 * run.share_read, 0)} %`,
  running: () => 'running',
  quiet: (run) => `no new step for ${durationText(run.age_seconds)}`,
  finished: () => 'finished',
  damaged: (run) => `the record cannot be read: ${run.problem}`,
};

// What is beside the phase: [number, what it is]...
function liveFacts(run) {
  const {step, steps_planned: planned, metrics} = run;
  const facts = [];
  if (metrics.loss !== undefined) facts.push([significant(metrics.loss, 4), 'loss']);
  if (metrics.accuracy !== undefined) facts.push([single(metrics.accuracy, 'share'), 'accuracy']);
  if (run.bytes_sent > 0) facts.push([bytesText(run.bytes_sent), 'sent per worker']);
  if (run.workers > 0) facts.push([fixed(run.workers, 0), run.is_elastic ? 'members' : 'workers']);
  if (run.steps_per_second > 0) facts.push([significant(run.steps_per_second, 3), 'steps/s']);
  if (run.phase === 'running' && planned > step && run.steps_per_second > 0) {
    facts.push([durationText((planned - step) / run.steps_per_second), 'left']);
  }
  return facts;
}

function makeLiveRun(run, index) {
  const {step, steps_planned: planned} = run;
  const count = make('span', {class: 'live-step', 'data-step': step},
    `step ${fixed(step, 0)}${planned ? ` of ${fixed(planned, 0)}` : ''}`);
  const done = make('span', {class: 'live-done'});
  done.style.width = `${planned ? Math.min(100, 100 * step / planned) : 0}%`;
  done.style.background = runColour(index);
  return make('li', {class: `live-run is-${run.phase}`},
    make('div', {class: 'live-line'}, swatch(runColour(index)),
      make('strong', {class: 'live-name'}, run.name),
      make('span', {class: `live-phase is-${run.phase}`}, phaseTexts[run.phase](run)), count,
      ...liveFacts(run).map(([value, what]) =>
        make('span', {class: 'live-fact'}, make('b', {}, value), ` ${what}`))),
    ...(planned ? [make('div', {class: 'live-bar', 'aria-hidden': 'true'}, done)] : []));
}

function showState({runs, hint}) {
  byId('live').hidden = false;
  byId('live-runs').replaceChildren(...runs.map(makeLiveRun));
  sayLive(hint);
}

// Only what is new is said, so that nobody hears the same again and again.
function sayLive(text) {
  const message = byId('live-message');
  message.hidden = text === '';
  if (message.textContent !== text) message.textContent = text;
}

async function fetchJson(path) {
  const answer = await fetch(path, {cache: 'no-store'});
  if (answer.status === 401) throw new Error('the token is no longer the right one');
  if (!answer.ok) throw new Error(`the server says ${answer.status}`);
  return answer.json();
}

async function follow(version) {
  let shown = version;
  let wait = kPollMs;
  for (;;) {
    if (document.hidden) await new Promise((seen) =>
      document.addEventListener('visibilitychange', seen, {once: true}));
    try {
      const state = await fetchJson('state');
      showState(state);
      if (state.version !== shown) {
        const data = await fetchJson('document');
        showDocument(data);
        shown = data.version;
      }
      wait = kPollMs;
    } catch (error) {
      byId('live').hidden = false;
      sayLive(`gradwire watch does not answer (${error.message}); asking again`);
      wait = Math.min(2 * wait, kPollMsMax);
    }
    await new Promise((over) => setTimeout(over, wait));
  }
}

if (firstDocument.live) follow(firstDocument.version);
