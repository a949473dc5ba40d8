// The two plots of a learned code, by uPlot: what was sent as a stack of parts, and the error.
'use strict';

const kHeadroom = 1.15;  // above the highest column

// A column begins at its edge; the last one ends at one, too.
function asSteps(values) {
  return [...values, values.at(-1)];
}

// Each part on top of those before it. The highest is drawn first, and the others over it.
function makeStack(host, height, view) {
  const {code, sent, colourOf} = view;
  const sums = new Array(code.phase.length).fill(0);
  const layers = sent.map(({name, bytes}) => {
    bytes.forEach((count, column) => { sums[column] += count; });
    return {name, values: asSteps(sums)};
  });
  const series = layers.map(({name}, index) => ({
    label: name,
    width: 0,
    pxAlign: 0,  // a column may be narrower than a pixel
    fill: styleValue(colourOf(sent[index])),
    paths: uPlot.paths.stepped({align: 1}),
    points: {show: false},
  }));
  return makeCodePlot(host, height, view, {
    look: 'bytes',
    range: stackRange(view),
    series: series.reverse(),
    data: [code.edges, ...layers.map(({values}) => values).reverse()],
    padding: [kStripHeight + 2 * kStripGap, null, null, null],
    draw: (plot) => {
      drawPhases(plot, code);
      drawCutMarks(plot, code);
    },
  });
}

// Where a column has no error, the curve passes over it, unless nobody looks in such a phase.
function makeErrorPlot(host, height, view) {
  const {code} = view;
  const looked = new Set(code.phase.filter((_, column) => code.error[column] !== null));
  const values = code.error.map((error, column) =>
    error ?? (looked.has(code.phase[column]) ? undefined : null));
  return makeCodePlot(host, height, view, {
    look: 'value',
    range: {min: {soft: 0, mode: 1, pad: 0}, max: {pad: 0.1}},
    series: [{
      label: 'error',
      stroke: styleValue('--accent'),
      width: 1.75,
      points: {show: values.length <= kPointsWithDots, size: 5},
    }],
    data: [code.edges.slice(1), values],
  });
}

function makeCodePlot(host, height, view, {look, range, series, data, padding, draw}) {
  const chart = {look};
  const linear = {isLogX: false, isLogY: false};
  const plot = new uPlot({
    width: host.clientWidth,
    height,
    padding,
    legend: {show: false},
    scales: {...makeScales(chart, linear), y: {range}},
    axes: makeAxes(chart, 'steps', linear),
    series: [{}, ...series],
    cursor: {sync: {key: view.sync, setSeries: false}, points: {size: 8}, y: false},
    hooks: {draw: draw ? [draw] : [], setCursor: [(each) => showCodeTip(each, view)]},
  }, data, host);
  plot.over.addEventListener('mouseleave', tip.hide);
  return plot;
}

// --- The height of columns -----------------------------------------------------------------------

function isFull(code, column) {
  return code.phases[code.phase[column]].name === 'full';
}

function highest(code, columns) {
  return Math.max(0, ...columns.map((column) => code.bytes[column]));
}

// A full step sends so much that beside it nothing else would be seen: its columns are cut.
function heightOf(code, columns, isWhole) {
  const others = columns.filter((column) => !isFull(code, column));
  return highest(code, isWhole || others.length === 0 ? columns : others);
}

function isSomethingCut(code) {
  const all = code.phase.map((_, column) => column);
  return heightOf(code, all, true) > kHeadroom * heightOf(code, all, false);
}

// From zero to a little above the highest column that is in sight.
function stackRange({code, isWhole}) {
  return (plot) => {
    const [first, last] = plot.series[0].idxs;
    const columns = code.phase.map((_, column) => column).slice(Math.max(0, first - 1), last + 1);
    return [0, kHeadroom * heightOf(code, columns, isWhole()) || 1];
  };
}

// --- The tip -------------------------------------------------------------------------------------

function showCodeTip(plot, {code, sent, colourOf}) {
  const {left, top} = plot.cursor;
  if (!plot.over.matches(':hover')) return;  // the other chart's cursor moved this one's
  const step = plot.posToVal(left, 'x');
  const column = code.edges.findLastIndex((edge) => edge < step);
  if (left < 0 || column < 0 || column >= code.phase.length) {
    tip.hide();
    return;
  }
  const row = (value, ...name) => make('tr', {}, make('th', {}, ...name), make('td', {}, value));
  const rows = sent.filter(({bytes}) => bytes[column] > 0).reverse().map((part) =>
    row(bytesText(part.bytes[column]), swatch(`var(${colourOf(part)})`), part.name));
  if (rows.length > 1) rows.push(row(bytesText(code.bytes[column]), 'together'));
  if (code.error[column] !== null) rows.push(row(significant(code.error[column], 3), 'error'));
  const box = plot.over.getBoundingClientRect();
  tip.show(box.left + left, box.top + top,
    make('p', {class: 'tip-head'}, columnText(code, column)), make('table', {}, ...rows));
}

// "steps 101 to 107, sparse"
function columnText(code, column) {
  const [first, last] = [code.edges[column] + 1, code.edges[column + 1]];
  const steps = first === last ? `step ${short(first)}` : `steps ${short(first)} to ${short(last)}`;
  return `${steps}, ${code.phases[code.phase[column]].name}`;
}
