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

// The sections that are shown, by the names of their kinds: {element, cards}
const noteSections = new Map();

function makeNotes(data) {
  for (const section of data.notes) {
    const runs = data.runs.map((_, run) => run).filter((run) => section.runs[run] !== null);
    const before = noteSections.get(section.name);
    const zooms = before ? before.cards.map(zoomOf) : [];
    const makeCard = noteViews[section.view];
    const cards = runs.map((run) => makeCard(section, data.runs[run], run, section.runs[run]));
    const element = make('section', {id: `notes-${section.name}`},
      make('h2', {}, section.title), make('p', {class: 'note'}, section.hint),
      make('div', {class: 'note-cards'}, ...cards.map(({card}) => card)));
    element.hidden = runs.length === 0;
    if (before) {
      removeNotes(before);
      before.element.replaceWith(element);
    } else {
      document.querySelector('main').append(element);
    }
    noteSections.set(section.name, {element, cards});
    const drawn = cards.filter(({draw}) => draw);
    drawn.forEach(({draw}) => draw());
    if (zooms.length === cards.length) cards.forEach((card, index) => zoom(card, zooms[index]));
    followWidths(drawn.flatMap(({charts}) => charts));
  }
  for (const [name, section] of noteSections) {
    if (data.notes.some((each) => each.name === name)) continue;
    removeNotes(section);
    section.element.remove();
    noteSections.delete(name);
  }
}

theme.onChange(() => {
  for (const {cards} of noteSections.values()) {
    for (const {draw} of cards) draw?.();
  }
});

function removeNotes({cards}) {
  const charts = cards.flatMap((card) => card.charts ?? []);
  forgetWidths(charts);
  for (const {plot} of charts) plot?.destroy();
}

// The part of x in which somebody has zoomed; null where all is shown.
function zoomOf({charts}) {
  const plot = charts?.[0]?.plot;
  return plot && isZoomed(plot) ? {min: plot.scales.x.min, max: plot.scales.x.max} : null;
}

function zoom({charts}, range) {
  if (range) for (const {plot} of charts) plot.setScale('x', range);
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
