// What methods noted in their steps: a section for each kind of note, a card for each run. Kinds say
// themselves how they are drawn.
'use strict';

// Each makes {card, charts, draw} from (section, run's name, run, entry). Charts and draw are there
// where something is drawn on canvases.
const noteViews = {
  map: makeNoteMap,
  stack: makeNoteStack,
  table: makeNoteTable,
};

function makeNotes(data) {
  for (const section of data.notes) {
    const runs = data.runs.map((_, run) => run).filter((run) => section.runs[run] !== null);
    if (runs.length === 0) continue;
    const makeCard = noteViews[section.view];
    const cards = runs.map((run) => makeCard(section, data.runs[run], run, section.runs[run]));
    document.querySelector('main').append(make('section', {id: `notes-${section.name}`},
      make('h2', {}, section.title), make('p', {class: 'note'}, section.hint),
      make('div', {class: 'note-cards'}, ...cards.map(({card}) => card))));
    const drawn = cards.filter(({draw}) => draw);
    if (drawn.length === 0) continue;
    const drawAll = () => drawn.forEach(({draw}) => draw());
    drawAll();
    theme.onChange(drawAll);
    followWidths(drawn.flatMap(({charts}) => charts));
  }
}

// [term, value]... as a list of facts.
function makeNoteFacts(facts) {
  return make('dl', {class: 'facts note-facts'}, ...facts.map(([name, value]) =>
    make('div', {}, make('dt', {}, ...[name].flat()), make('dd', {}, value))));
}

// Totals of the run. A time that nothing took is left out.
function totalFacts(facts) {
  return facts.filter(({value, unit}) => unit !== 'ms' || value > 0)
    .map(({label, value, unit}) => [label, unitText(value, unit)]);
}
