// A map of a run's notes: a line for each row of their table, a cell for each note.
'use strict';

function makeNoteMap(section, name, run, map) {
  const all = map.rows.flatMap((row) => row.values).filter((value) => value !== null);
  const range = {least: Math.min(...all), most: Math.max(...all)};
  const overall = {name: section.overall, weight: null, values: map.overall, details: null};
  const table = make('table', {class: 'map'});
  table.append(make('tbody', {},
    ...[overall, ...map.rows].map((row) => makeMapLine(section, row, map, range))));
  table.append(make('tfoot', {}, make('tr', {}, make('td'),
    make('td', {colspan: map.steps.length},
      make('div', {class: 'ends'},
        make('span', {}, stepText(map.steps[0])),
        make('span', {}, map.steps.length > 1 ? stepText(map.steps.at(-1)) : ''))))));
  const card = make('figure', {class: 'card map-card'},
    make('div', {class: 'card-head'},
      make('h3', {}, swatch(runColour(run)), name), makeMapScale(section, map, range)),
    make('div', {class: 'scroll', role: 'region', 'aria-label': `${section.title}, ${name}`,
      tabindex: '0'}, table));
  return {card};
}

function stepText(step) {
  return `step ${short(step)}`;
}

function makeMapScale(section, map, {least, most}) {
  const shown = map.steps.length;
  const count = shown < map.notes ? `${shown} of ${map.notes} ${section.note}s`
    : `${shown} ${section.note}s`;
  return make('p', {class: 'scale'}, `${count} · ${significant(least, 3)} ${section.unit}`,
    make('span', {class: 'scale-bar', 'aria-hidden': 'true'}),
    `${significant(most, 3)} ${section.unit}`);
}

function makeMapLine(section, row, map, {least, most}) {
  const line = make('tr', {class: row.details ? null : 'mean'},
    make('th', {scope: 'row'}, row.name));
  row.values.forEach((value, note) => {
    const cell = make('td');
    if (value !== null) {
      const share = most > least ? (value - least) / (most - least) : 1;
      cell.style.setProperty('--level', share.toFixed(3));
      cell.className = 'cell';
    }
    cell.addEventListener('mousemove', (event) => tip.show(event.clientX, event.clientY,
      make('p', {class: 'tip-head'}, row.name), ...cellTexts(section, row, map, note)));
    cell.addEventListener('mouseleave', tip.hide);
    line.append(cell);
  });
  return line;
}

function cellTexts(section, row, map, note) {
  const texts = [`${significant(row.values[note], 3)} ${section.unit} ${section.per}`];
  if (row.details?.[note]) texts.push(row.details[note]);
  if (row.weight !== null) texts.push(`${short(row.weight)} ${section.weight}`);
  texts.push(stepText(map.steps[note]));
  return texts.map((text) => make('p', {}, text));
}
