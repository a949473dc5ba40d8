// Elements of the page. Texts go in as texts, so that no name of a run can be markup.
'use strict';

const byId = (id) => document.getElementById(id);

// make('td', {class: 'number'}, 'text', child...)
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

const kRunColours = 10;

// The row of each run: runs that differ in their seed share one, and its colour everywhere.
let rowOfRun = [];

function rowColour(row) {
  return `var(--run-${row % kRunColours})`;
}

function runColour(run) {
  return rowColour(rowOfRun[run] ?? run);  // a live page may not know its row yet
}

function swatch(colour) {
  const mark = make('span', {class: 'swatch', 'aria-hidden': 'true'});
  mark.style.background = colour;
  return mark;
}

// What a variable of the style sheet is now, for canvases, which do not know variables.
function styleValue(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// The one tip of the page, beside the pointer and inside the window.
const tip = {
  show(x, y, ...children) {
    const element = byId('tip');
    element.replaceChildren(...children);
    element.hidden = false;
    const {width, height} = element.getBoundingClientRect();
    const left = x + 16 + width > innerWidth ? x - 16 - width : x + 16;
    element.style.left = `${Math.max(4, left)}px`;
    element.style.top = `${Math.max(4, Math.min(y + 12, innerHeight - height - 4))}px`;
  },
  hide() {
    byId('tip').hidden = true;
  },
};
