// The two plots of a stack, by uPlot: its rows one upon the other, and the line below.
'use strict';

const kHeadroom = 1.15;  // above the highest column

// A column begins at its edge; the last one ends at one, too.
function asSteps(values) {
  return [...values, values.at(-1)];
}

// Each row on top of those before it. The highest is drawn first, and the others over it.
function makeStackPlot(host, height, view) {
  const {section, stack, rows, colourOf} = view;
  const sums = new Array(stack.band.length).fill(0);
  const layers = rows.map(({name, values}) => {
    values.forEach((value, column) => { sums[column] += value; });
    return {name, values: asSteps(sums)};
  });
  const series = layers.map(({name}, index) => ({
    label: name,
    width: 0,
    pxAlign: 0,  // a column may be narrower than a pixel
    fill: styleValue(colourOf(rows[index])),
    paths: uPlot.paths.stepped({align: 1}),
    points: {show: false},
  }));
  return makeNotePlot(host, height, view, {
    look: section.unit === 'bytes' ? 'bytes' : 'value',
    range: stackRange(view),
    series: series.reverse(),
    data: [stack.edges, ...layers.map(({values}) => values).reverse()],
    padding: [kStripHeight + 2 * kStripGap, null, null, null],
    draw: (plot) => {
      drawBands(plot, stack);
      drawCutMarks(plot, view);
    },
  });
}

// Where a column has no value, the curve passes over it, unless no column of its band has one.
function makeLinePlot(host, height, view) {
  const {section, stack} = view;
  const known = new Set(stack.band.filter((_, column) => stack.line[column] !== null));
  const values = stack.line.map((value, column) =>
    value ?? (known.has(stack.band[column]) ? undefined : null));
  return makeNotePlot(host, height, view, {
    look: 'value',
    range: {min: {soft: 0, mode: 1, pad: 0}, max: {pad: 0.1}},
    series: [{
      label: section.line_name,
      stroke: styleValue('--accent'),
      width: 1.75,
      points: {show: values.length <= kPointsWithDots, size: 5},
    }],
    data: [stack.edges.slice(1), values],
  });
}

function makeNotePlot(host, height, view, {look, range, series, data, padding, draw}) {
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
    hooks: {draw: draw ? [draw] : [], setCursor: [(each) => showStackTip(each, view)]},
  }, data, host);
  plot.over.addEventListener('mouseleave', tip.hide);
  return plot;
}

// --- The height of columns -----------------------------------------------------------------------

function isTall({section, stack}, column) {
  return stack.bands[stack.band[column]].name === section.tall;
}

function highest(stack, columns) {
  return Math.max(0, ...columns.map((column) => stack.heights[column]));
}

// Beside a tall column nothing else would be seen: it is cut.
function heightOf(view, columns, isWhole) {
  const others = columns.filter((column) => !isTall(view, column));
  return highest(view.stack, isWhole || others.length === 0 ? columns : others);
}

function isSomethingCut(view) {
  const all = view.stack.band.map((_, column) => column);
  return heightOf(view, all, true) > kHeadroom * heightOf(view, all, false);
}

// From zero to a little above the highest column that is in sight.
function stackRange(view) {
  return (plot) => {
    const [first, last] = plot.series[0].idxs;
    const all = view.stack.band.map((_, column) => column);
    const columns = all.slice(Math.max(0, first - 1), last + 1);
    return [0, kHeadroom * heightOf(view, columns, view.isWhole()) || 1];
  };
}

// --- The tip -------------------------------------------------------------------------------------

function showStackTip(plot, {section, stack, rows, colourOf}) {
  const {left, top} = plot.cursor;
  if (!plot.over.matches(':hover')) return;  // the other chart's cursor moved this one's
  const step = plot.posToVal(left, 'x');
  const column = stack.edges.findLastIndex((edge) => edge < step);
  if (left < 0 || column < 0 || column >= stack.band.length) {
    tip.hide();
    return;
  }
  const line = (value, ...name) => make('tr', {}, make('th', {}, ...name), make('td', {}, value));
  const lines = rows.filter(({values}) => values[column] > 0).reverse().map((row) =>
    line(unitText(row.values[column], section.unit), swatch(`var(${colourOf(row)})`), row.name));
  if (lines.length > 1) lines.push(line(unitText(stack.heights[column], section.unit), 'together'));
  const below = stack.line[column];
  if (below !== null) lines.push(line(significant(below, 3), section.line_name));
  const box = plot.over.getBoundingClientRect();
  tip.show(box.left + left, box.top + top,
    make('p', {class: 'tip-head'}, columnText(stack, column)), make('table', {}, ...lines));
}

// "steps 101 to 107, sparse"
function columnText(stack, column) {
  const [first, last] = [stack.edges[column] + 1, stack.edges[column + 1]];
  const steps = first === last ? `step ${short(first)}` : `steps ${short(first)} to ${short(last)}`;
  return `${steps}, ${stack.bands[stack.band[column]].name}`;
}
