// A run's notes as a stack of their rows over the steps, with the bands above it, and a line below.
'use strict';

const kRowColours = 8;
const kLineHeight = 220;

// Stacks whose columns somebody wants in their whole height.
const wholeStacks = new Set();

function makeNoteStack(section, name, run, stack) {
  const rowNames = [...new Set(section.runs.filter((each) => each !== null)
    .flatMap(({rows}) => rows.map((row) => row.name)))];
  const colourOf = (row) => `--row-${rowNames.indexOf(row.name) % kRowColours}`;
  const rows = stack.rows.filter(({values}) => values.some((value) => value > 0));
  const key = `${section.name} ${name}`;
  const whole = makeSwitch('whole height', `Columns of ${section.tall} steps in their whole height`,
    wholeStacks.has(key), () => {
      wholeStacks[isPressed(whole) ? 'add' : 'delete'](key);
      draw();
    });
  const view = {section, stack, rows, colourOf, sync: `${section.name}-${run}`,
    isWhole: () => isPressed(whole)};
  whole.hidden = !isSomethingCut(view);
  const legend = make('ul', {class: 'parts'}, ...rows.map((row) =>
    make('li', {}, swatch(`var(${colourOf(row)})`), row.name)));
  const charts = [makeNoteChart(section.stack_title, kChartHeight, makeStackPlot, legend, whole)];
  if (stack.line.some((value) => value !== null)) {
    charts.push(makeNoteChart(section.line_title, kLineHeight, makeLinePlot));
  }

  function draw() {
    tip.hide();
    for (const chart of charts) {
      chart.plot?.destroy();
      chart.plot = chart.makePlot(chart.host, chart.height, view);
      chart.host.plot = chart.plot;
    }
  }

  const heading = make('h3', {}, swatch(runColour(run)), name);
  const card = make('figure', {class: 'card chart'}, make('div', {class: 'card-head'}, heading),
    makeNoteFacts([...bandFacts(stack), ...totalFacts(stack.facts)]),
    ...charts.map(({element}) => element));
  return {card, charts, draw};
}

// A heading, what belongs beside it, and room for the plot.
function makeNoteChart(title, height, makePlot, ...more) {
  const host = make('div', {class: 'plot', role: 'img', 'aria-label': title});
  host.style.height = `${height}px`;
  const head = make('div', {class: 'note-chart-head'}, make('h4', {}, title), ...more);
  return {element: make('div', {}, head, host), host, height, makePlot, plot: null};
}

function bandFacts(stack) {
  return stack.bands.map((band) => [
    [swatch(`var(${bandColour(band)})`), `${band.name}, ${plural(band.steps, 'step')}`],
    `${bytesText(band.bytes_per_step)} a step`]);
}
