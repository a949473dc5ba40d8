// What a method that learns a code sent: for each run a stack of parts over the steps, with the
// phases above it, and below it the code's error.
'use strict';

const kPartColours = 8;
const kErrorHeight = 220;

function makeCodes(data) {
  const runs = data.runs.map((_, run) => run).filter((run) => data.codes[run] !== null);
  if (runs.length === 0) return;
  const names = [...new Set(runs.flatMap((run) => data.codes[run].parts.map(({name}) => name)))];
  const colourOf = (part) => `--sent-${names.indexOf(part.name) % kPartColours}`;
  const cards = runs.map((run) => makeCodeCard(data.runs[run], run, data.codes[run], colourOf));
  byId('code-cards').append(...cards.map(({card}) => card));
  byId('codes').hidden = false;
  const drawAll = () => cards.forEach(({draw}) => draw());
  drawAll();
  theme.onChange(drawAll);
  followWidths(cards.flatMap(({charts}) => charts));
}

function makeCodeCard(name, run, code, colourOf) {
  const sent = code.parts.filter(({bytes}) => bytes.some((count) => count > 0));
  const whole = makeSwitch('whole height', 'Columns of full steps in their whole height', false,
    () => draw());
  whole.hidden = !isSomethingCut(code);
  const view = {code, sent, colourOf, sync: `code-${run}`, isWhole: () => isPressed(whole)};
  const legend = make('ul', {class: 'parts'}, ...sent.map((part) =>
    make('li', {}, swatch(`var(${colourOf(part)})`), part.name)));
  const charts = [makeCodeChart('Bytes per step', kChartHeight, makeStack, legend, whole)];
  if (code.error.some((error) => error !== null)) {
    charts.push(makeCodeChart('Error of the code', kErrorHeight, makeErrorPlot));
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
    makeCodeFacts(code), ...charts.map(({element}) => element));
  return {card, charts, draw};
}

// A heading, what belongs beside it, and room for the plot.
function makeCodeChart(title, height, makePlot, ...more) {
  const host = make('div', {class: 'plot', role: 'img', 'aria-label': title});
  host.style.height = `${height}px`;
  const head = make('div', {class: 'code-chart-head'}, make('h4', {}, title), ...more);
  return {element: make('div', {}, head, host), host, height, makePlot, plot: null};
}

function makeCodeFacts(code) {
  const fact = (name, value) => make('div', {}, make('dt', {}, ...name), make('dd', {}, value));
  const facts = code.phases.map((phase) => fact(
    [swatch(`var(${phaseColour(phase.name)})`), `${phase.name}, ${plural(phase.steps, 'step')}`],
    `${bytesText(phase.bytes_per_step)} a step`));
  if (code.mean_error !== null) {
    facts.push(fact(['mean error of coded steps'], significant(code.mean_error, 3)));
  }
  if (code.learn_ms > 0) facts.push(fact(['learning'], `${significant(code.learn_ms / 1e3, 3)} s`));
  return make('dl', {class: 'facts code-facts'}, ...facts);
}
