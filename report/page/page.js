// Puts the page together from its document.
'use strict';

function plural(count, word) {
  return `${fixed(count, 0)} ${word}${count === 1 ? '' : 's'}`;
}

function makeHead(data) {
  byId('title').textContent = data.title;
  byId('lead').textContent = leadOf(data);
  byId('headline').textContent = data.headline;
  byId('headline').hidden = data.headline === '';
  document.title = `${data.title} · gradwire`;
  byId('configuration').hidden = data.facts.length === 0;
  byId('facts').replaceChildren(...data.facts.map(({name, value}) =>
    make('div', {}, make('dt', {}, name), make('dd', {}, value))));
}

function leadOf({runs, rows}) {
  if (runs.length === 0) return '';
  if (runs.length === 1) return runs[0];
  if (rows.length === runs.length) return `${plural(runs.length, 'run')} side by side`;
  return `${plural(rows.length, 'method')} side by side, ${plural(runs.length, 'run')} with ` +
    'different seeds';
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
  rowOfRun = data.row_of;
  const runs = [data.runs, data.rows, data.row_of];
  ifChanged('head', [data.title, data.headline, data.facts, runs], byId('facts'),
    () => makeHead(data));
  ifChanged('table', [runs, data.columns], null, () => {
    makeTable(byId('table'), data);
    byId('sorting').hidden = data.rows.length === 1;
    byId('results').hidden = data.runs.length === 0;
  });
  showCharts(data);
  ifChanged('bars', [runs, data.bars], byId('time'), () => makeBars(data));
  ifChanged('members', [runs, data.members], byId('members'), () => makeMembers(data));
  ifChanged('notes', [runs, data.notes], document.querySelector('.note-cards'),
    () => makeNotes(data));
}

function makePage() {
  const data = JSON.parse(byId('document').textContent);
  makeThemeButton();
  byId('configuration').open = data.runs.length === 1 && !data.live;
  byId('sorting').after(makeColumnSwitch(byId('table')));
  showDocument(data);
  return data;
}

const firstDocument = makePage();
