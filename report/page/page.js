// Puts the page together from its document.
'use strict';

function plural(count, word) {
  return `${fixed(count, 0)} ${word}${count === 1 ? '' : 's'}`;
}

function makeHead(data) {
  byId('title').textContent = data.title;
  byId('lead').textContent =
    data.runs.length === 1 ? data.runs[0] : `${plural(data.runs.length, 'run')} side by side`;
  byId('headline').textContent = data.headline;
  byId('headline').hidden = data.headline === '';
  byId('configuration').open = data.runs.length === 1;
  byId('facts').append(...data.facts.map(({name, value}) =>
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

function makePage() {
  const data = JSON.parse(byId('document').textContent);
  makeThemeButton();
  makeHead(data);
  if (data.runs.length > 0) {
    makeTable(byId('table'), data);
    byId('sorting').hidden = data.runs.length === 1;
    byId('results').hidden = false;
  }
  if (data.charts.length > 0 && data.axes.length > 0) makeCharts(data);
  makeBars(data);
  makeMembers(data);
  makeNotes(data);
}

makePage();
