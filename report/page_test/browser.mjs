// Chromium without a window, spoken to over pipes: messages of its DevTools protocol are JSON texts
// with a zero byte behind each, on descriptors 3 (to it) and 4 (from it).
import {spawn} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const kAnswerMs = 60_000;
const kCloseMs = 5000;

export class Browser {
  #process;
  #profile = mkdtempSync(join(tmpdir(), 'gradwire-browser-'));
  #calls = new Map();
  #count = 0;
  #text = '';
  onEvent = () => {};

  constructor(program) {
    this.#process = spawn(program, [
      '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage',
      '--no-first-run', '--disable-background-networking', '--disable-component-update',
      '--disable-sync', '--hide-scrollbars',
      `--user-data-dir=${this.#profile}`, '--remote-debugging-pipe',
    ], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    this.#process.on('error', (error) => this.#fail(error));
    this.#process.on('exit', () => this.#fail(new Error('the browser has ended')));
    this.#process.stdio[3].on('error', (error) => this.#fail(error));
    this.#process.stdio[4].setEncoding('utf8').on('data', (text) => this.#read(text));
  }

  call(method, params = {}, sessionId = undefined) {
    const id = ++this.#count;
    this.#process.stdio[3].write(JSON.stringify({id, method, params, sessionId}) + '\0');
    return new Promise((resolve, reject) => {
      const late = () => reject(new Error(`no answer to ${method} within ${kAnswerMs} ms`));
      this.#calls.set(id, {resolve, reject, timer: setTimeout(late, kAnswerMs)});
    });
  }

  async close() {
    const ended = new Promise((resolve) => this.#process.on('exit', resolve));
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), kCloseMs);
    await this.call('Browser.close').catch(() => {});  // it may end before it answers
    await ended;
    clearTimeout(timer);
    await this.#removeProfile();
  }

  // Its helpers may live, and write, a little longer than the browser.
  async #removeProfile() {
    for (let attempt = 0; attempt < 20; attempt++) {
      try {
        rmSync(this.#profile, {recursive: true, force: true});
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
    console.log(`left behind: ${this.#profile}`);
  }

  #read(text) {
    const parts = (this.#text + text).split('\0');
    this.#text = parts.pop();
    for (const part of parts) this.#take(JSON.parse(part));
  }

  #take(message) {
    const call = this.#calls.get(message.id);
    if (!call) return this.onEvent(message);
    this.#calls.delete(message.id);
    clearTimeout(call.timer);
    if (message.error) call.reject(new Error(message.error.message));
    else call.resolve(message.result);
  }

  #fail(error) {
    for (const {reject, timer} of this.#calls.values()) {
      clearTimeout(timer);
      reject(error);
    }
    this.#calls.clear();
  }
}

// A page that is open. `problems` has all exceptions, console errors and requests that it made
// beside the one for itself and those whose addresses begin with `mayAsk`.
export class Page {
  problems = [];

  static async open(browser, url, {width = 1280, height = 900, dark = false, mayAsk = null} = {}) {
    const page = new Page();
    page.mayAsk = mayAsk;
    const {targetId} = await browser.call('Target.createTarget', {url: 'about:blank'});
    const {sessionId} = await browser.call('Target.attachToTarget', {targetId, flatten: true});
    page.call = (method, params) => browser.call(method, params, sessionId);
    page.close = () => browser.call('Target.closeTarget', {targetId});
    const loaded = new Promise((resolve) => {
      browser.onEvent = (message) => {
        if (message.sessionId !== sessionId) return;
        if (message.method === 'Page.loadEventFired') resolve();
        page.#look(message, url);
      };
    });
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await page.call(`${domain}.enable`);
    await page.call('Emulation.setDeviceMetricsOverride',
      {width, height, deviceScaleFactor: 1, mobile: width < 600});
    const value = dark ? 'dark' : 'light';
    await page.call('Emulation.setEmulatedMedia',
      {features: [{name: 'prefers-color-scheme', value}]});
    await page.call('Page.navigate', {url});
    await loaded;
    return page;
  }

  #look({method, params}, url) {
    if (method === 'Runtime.exceptionThrown') {
      this.problems.push(params.exceptionDetails.exception?.description ?? 'an exception');
    } else if (method === 'Runtime.consoleAPICalled' && params.type !== 'log') {
      this.problems.push(`console.${params.type}: ${JSON.stringify(params.args)}`);
    } else if (method === 'Log.entryAdded') {
      this.problems.push(`log: ${params.entry.text}`);
    } else if (method === 'Network.requestWillBeSent' && params.request.url !== url &&
        !(this.mayAsk && params.request.url.startsWith(this.mayAsk))) {
      this.problems.push(`request: ${params.request.url}`);
    }
  }

  // Calls a function in the page. It and its arguments go there as texts.
  async run(body, ...values) {
    const expression = `(${body})(...${JSON.stringify(values)})`;
    const {result, exceptionDetails} = await this.call('Runtime.evaluate',
      {expression, awaitPromise: true, returnByValue: true});
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description);
    return result.value;
  }

  async hover(x, y) {
    await this.call('Input.dispatchMouseEvent', {type: 'mouseMoved', x, y});
  }

  // From one place to another along the width of an element; both are shares of it.
  async drag(selector, from, to) {
    const box = await this.run((name) => {
      const {left, top, width, height} = document.querySelector(name).getBoundingClientRect();
      return {left, y: top + height / 2, width};
    }, selector);
    const mouse = (type, share) => this.call('Input.dispatchMouseEvent',
      {type, x: box.left + share * box.width, y: box.y, button: 'left', clickCount: 1});
    await this.hover(box.left + from * box.width, box.y);
    await mouse('mousePressed', from);
    await mouse('mouseMoved', (from + to) / 2);
    await mouse('mouseMoved', to);
    await mouse('mouseReleased', to);
  }

  async pressEnter() {
    const key = {key: 'Enter', code: 'Enter', text: '\r', windowsVirtualKeyCode: 13};
    for (const type of ['keyDown', 'keyUp']) {
      await this.call('Input.dispatchKeyEvent', {type, ...key});
    }
  }

  // The whole page as a PNG.
  async picture() {
    const {data} = await this.call('Page.captureScreenshot', {captureBeyondViewport: true});
    return Buffer.from(data, 'base64');
  }
}
