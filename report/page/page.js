// Puts the page together from its document.
'use strict';

function plural(count, word) {
  return `${fixed(count, 0)} ${word}${count === 1 ? '' : 's'}`;
}

function makeHead(data) {
  byId('title').textContent = data.title;
  byId('lead').textContent = data.runs.length === 1 ? data.runs[0]
    : data.runs.length === 0 ? '' : `${plural(data.runs.length, 'run')} side by side`;
  byId('headline').textContent = data.headline;
  byId('headline').hidden = data.headline === '';
  document.title = `${data.title} · gradwire`;
  byId('configuration').hidden = data.facts.length === 0;
  byId('facts').replaceChildren(...data.facts.map(({name, value}) =>
    make('div', {}, make('dt', {}, name), make('dd', {}, value))));
}

function makeThemeButton() {
  const button = byId('theme');
  const name = () => {
    button.textContent = theme.isDark() ? 'Light' : 'Dark';
    button.setAttribute('aria-label', `${button.textContent} colours`);
  };
  button.addEventListener('click', theme.toggle);
  theme.onChange(name);
  name();
}

// Acts where the part of the document is not the one that was shown before.
const shownParts = new Map();

function ifChanged(name, part, element, act) {
  const text = JSON.stringify(part);
  if (shownParts.get(name) === text) return;
  shownParts.set(name, text);
  if (element?.matches(':hover')) tip.hide();  // what it is about may be gone
  act();
}

function showDocument(data) {
  ifChanged('head', [data.title, data.headline, data.facts, data.runs], byId('facts'),
    () => makeHead(data));
  ifChanged('table', [data.runs, data.columns], null, () => {
    makeTable(byId('table'), data);
    byId('sorting').hidden = data.runs.length === 1;
    byId('results').hidden = data.runs.length === 0;
  });
  showCharts(data);
  ifChanged('bars', [data.runs, data.bars], byId('time'), () => makeBars(data));
  ifChanged('members', [data.runs, data.members], byId('members'), () => makeMembers(data));
  ifChanged('notes', [data.runs, data.notes], document.querySelector('.note-cards'),
    () => makeNotes(data));
}

function makePage() {
  const data = JSON.parse(byId('document').textContent);
  makeThemeButton();
  byId('configuration').open = data.runs.length === 1 && !data.live;
  showDocument(data);
  return data;
}

const firstDocument = makePage();
