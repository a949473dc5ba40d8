// A run that goes on, for tests: writes the record of one, and starts what shows it.
import {spawn} from 'node:child_process';
import {appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';

export const sleep = (ms) => new Promise((over) => setTimeout(over, ms));

// The record of a run, step by step.
export class LiveRun {
  step = 0;

  constructor(directory, {method = 'natural', planned = 1000, noted = false} = {}) {
    Object.assign(this, {directory, method, planned, noted});
    mkdirSync(directory, {recursive: true});
    writeFileSync(join(directory, 'start.json'), JSON.stringify(this.#record(false)));
    writeFileSync(join(directory, 'steps.jsonl'), '');
  }

  add(count) {
    let text = '';
    for (let i = 0; i < count; i++) text += JSON.stringify(this.#line(++this.step)) + '\n';
    appendFileSync(join(this.directory, 'steps.jsonl'), text);
  }

  addText(text) {
    appendFileSync(join(this.directory, 'steps.jsonl'), text);
  }

  // As a resumed run does it.
  cutBack(step) {
    let text = '';
    for (let i = 1; i <= step; i++) text += JSON.stringify(this.#line(i)) + '\n';
    writeFileSync(join(this.directory, 'new'), text);
    renameSync(join(this.directory, 'new'), join(this.directory, 'steps.jsonl'));
    this.step = step;
  }

  finish() {
    writeFileSync(join(this.directory, 'new'), JSON.stringify(this.#record(true)));
    renameSync(join(this.directory, 'new'), join(this.directory, 'run.json'));
  }

  remove() {
    rmSync(this.directory, {recursive: true});
  }

  #line(step) {
    const wave = Math.sin(step * 12.9898);
    const line = {
      step, loss: 0.3 + 2 * Math.exp(-step / 400) + 0.05 * wave, learning_rate: 0.1,
      bytes_up: 460_000, bytes_down: 461_000, message_bytes: 153_000, uploads: 4,
      uploads_skipped: 0, poisoned: false, compute_ms: 38 + wave, encode_ms: 0.5,
      exchange_ms: 12 + 2 * wave, decode_ms: 0.6, step_ms: 52 + 2 * wave,
    };
    if (step % 50 === 0) {
      line.test_loss = 0.4 + 1.9 * Math.exp(-step / 400);
      line.accuracy = 0.9 - 0.7 * Math.exp(-step / 400);
    }
    if (this.noted) {
      line.code = {phase: step <= 20 ? 'full' : step % 50 === 0 ? 'sparse' : 'coded',
        parts: {places: 2600, codes: 1350, dense: 1900}, error: 0.2 + 0.1 * wave,
        is_estimate: true, learn_ms: 0.25};
    }
    return line;
  }

  #record(finished) {
    const record = {
      method: this.method, workers: 4, steps: this.step, parameters: 272474, start: {}, final: {},
      bytes_up_per_worker: 460_000 * this.step, bytes_down_per_worker: 461_000 * this.step,
      message_bytes_per_worker: 153_000 * this.step, uploads: 4 * this.step, uploads_skipped: 0,
      poisoned: 0, model_hash: '',
      seconds: {compute: 0.038 * this.step, encode: 0, exchange: 0.012 * this.step, decode: 0,
        total: 0.052 * this.step},
      configuration: {model: 'resnet20', data: 'fashion-mnist', batch: 32, learning_rate: 0.1,
        topology: 'scatter', transport: 'tcp', seed: 1, steps_planned: this.planned,
        link_bits_per_second: [1e9, 1e9, 1e9, 1e8]},
      version: '0.2.0', machine: {cpus: 2, compiler: 'gcc 12.2.0', system: 'Linux x86_64'},
    };
    if (!finished) record.finished = false;
    return record;
  }
}

// A `gradwire watch`, which has said where it listens: {url, port, process, close}
export async function startWatch(program, places, options = []) {
  const child = spawn(program, ['watch', ...places, '--listen', '127.0.0.1:0', '--json', ...options],
    {stdio: ['ignore', 'pipe', 'ignore']});
  const ended = new Promise((resolve) => child.on('exit', resolve));
  let text = '';
  const said = new Promise((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (part) => {
      text += part;
      try {
        resolve(JSON.parse(text));
      } catch {
        // There is more to come.
      }
    });
    ended.then((code) => reject(new Error(`gradwire watch has ended with ${code}`)));
  });
  const close = async (signal = 'SIGINT') => {
    child.kill(signal);
    return ended;
  };
  return {...await said, process: child, close};
}
