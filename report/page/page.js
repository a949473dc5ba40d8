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
  byId('configuration').open = data.runs.length === 1;
  byId('facts').append(...data.facts.map(({name, value}) =>
    make('div', {}, make('dt', {}, name), make('dd', {}, value))));
}

function leadOf({runs, rows}) {
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

function makePage() {
  const data = JSON.parse(byId('document').textContent);
  rowOfRun = data.row_of;
  makeThemeButton();
  makeHead(data);
  if (data.runs.length > 0) {
    makeTable(byId('table'), data);
    byId('sorting').hidden = data.rows.length === 1;
    byId('results').hidden = false;
  }
  if (data.charts.length > 0 && data.axes.length > 0) makeCharts(data);
  makeBars(data);
  makeMembers(data);
  makeNotes(data);
}

makePage();
