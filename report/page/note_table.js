// The last note of a run as it is: its fields, and its table.
'use strict';

function makeNoteTable(section, name, run, note) {
  const text = (value, unit) => (typeof value === 'number' ? unitText(value, unit)
    : value === null ? kDash : String(value));
  const facts = [...totalFacts(note.facts),
    ...note.fields.map(({name: field, unit, value}) => [field, text(value, unit)])];
  const heading = make('div', {class: 'card-head'},
    make('h3', {}, swatch(runColour(run)), name),
    make('p', {class: 'scale'}, `step ${short(note.step)}, the last of ${plural(note.notes, 'note')}`));
  const card = make('figure', {class: 'card chart'}, heading, makeNoteFacts(facts));
  if (note.rows.length > 0) {
    card.append(make('div', {class: 'scroll', role: 'region', tabindex: '0',
      'aria-label': `${section.title}, ${name}`},
      make('table', {class: 'note-table'},
        make('thead', {}, make('tr', {},
          ...note.columns.map(({name: column}) => make('th', {scope: 'col'}, column)))),
        make('tbody', {}, ...note.rows.map((row) => make('tr', {},
          ...row.map((value, i) => make('td', {}, text(value, note.columns[i].unit)))))))));
  }
  return {card};
}
