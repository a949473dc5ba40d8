// One chart: a curve for each run, by uPlot, against the chosen axis.
'use strict';

const kChartHeight = 300;
const kPointsWithDots = 60;  // a curve of so few points shows where they are
const kGridDecades = 2;     // on longer logarithmic axes only powers of ten have a line
const kSmoothShare = 40;     // a smoothed value is the mean of a 20th of the curve
const kReach = 30;           // pixels from a curve's end at which it still has a value

// A curve with a value for every step is smoothed, above its faint raw line.
function isSmoothed(chart) {
  return chart.smooth && chart.curves.some(({y}) => y.length > kPointsWithDots);
}

// The mean of a value and its neighbours, as many on one side as on the other.
function smoothed(y) {
  const reach = Math.round(y.length / kSmoothShare);
  return y.map((value, i) => {
    if (value === null) return null;
    const side = Math.min(reach, i, y.length - 1 - i);
    const known = y.slice(i - side, i + side + 1).filter((other) => other !== null);
    return known.reduce((sum, other) => sum + other, 0) / known.length;
  });
}

// The runs' points on one line of x, as uPlot wants them: the raw lines, if there are any, and then
// the curves. Where a run has none, undefined, which the curve passes over; where its value was no
// number, null, which is a gap. What is not above zero has no place on a logarithmic scale.
function joined(chart, {axis, isLogX, isLogY}) {
  const table = (curve, values) => {
    const x = curve.x[axis];
    const hasPlace = (_, i) => !isLogX || x[i] > 0;
    const y = isLogY ? values.map((value) => (value > 0 ? value : null)) : values;
    return [x.filter(hasPlace), y.filter(hasPlace)];
  };
  if (!isSmoothed(chart)) return uPlot.join(chart.curves.map((curve) => table(curve, curve.y)));
  return uPlot.join([...chart.curves.map((curve) => table(curve, curve.y)),
    ...chart.curves.map((curve) => table(curve, smoothed(curve.y)))]);
}

// The series of a run: its curve, and its raw line.
function seriesOf(chart, run) {
  const runs = chart.curves.length;
  return isSmoothed(chart) ? [runs + run + 1, run + 1] : [run + 1];
}

function fewPoints(plot, series) {
  let count = 0;
  for (const y of plot.data[series]) if (typeof y === 'number') count++;
  return count <= kPointsWithDots;
}

function makeSeries(chart, data, visible) {
  const curve = (row, more) => ({
    label: data.rows[row].name,
    show: visible[row],
    stroke: styleValue(`--run-${row % kRunColours}`),
    width: 1.75,
    dash: row < kRunColours ? undefined : [8, 4],
    points: {show: fewPoints, size: 5},
    ...more,
  });
  const faint = (row) => curve(row, {
    stroke: `${styleValue(`--run-${row % kRunColours}`)}38`,
    width: 1,
    points: {show: false},
    faint: true,
  });
  const curves = data.row_of.map((row) => curve(row));
  return isSmoothed(chart) ? [...data.row_of.map((row) => faint(row)), ...curves] : curves;
}

// The index of the point of a series that is nearest to x; null beyond its ends.
function nearestIndex(plot, series, index, x) {
  const [xs, ys] = [plot.data[0], plot.data[series]];
  let before = index;
  let after = index;
  while (before >= 0 && ys[before] === undefined) before--;
  while (after < ys.length && ys[after] === undefined) after++;
  const far = (i) => Math.abs(plot.valToPos(xs[i], 'x') - plot.valToPos(x, 'x'));
  if (before < 0 && after >= ys.length) return null;
  if (before < 0) return far(after) > kReach ? null : after;
  if (after >= ys.length) return far(before) > kReach ? null : before;
  return far(before) <= far(after) ? before : after;
}

// The values under the pointer, by row: the mean of its runs.
function tipRows(plot, chart, data) {
  const values = data.rows.map(() => []);
  data.row_of.forEach((row, run) => {
    const [series] = seriesOf(chart, run);
    const index = plot.cursor.idxs[series];
    if (index === null || index === undefined || !plot.series[series].show) return;
    const value = plot.data[series][index];
    if (value !== null && value !== undefined) values[row].push(value);
  });
  const mean = (some) => some.reduce((sum, value) => sum + value, 0) / some.length;
  const rows = values.map((some, row) => ({row, runs: some.length, value: mean(some)}))
    .filter(({runs}) => runs > 0);
  rows.sort((a, b) => b.value - a.value);
  return rows.map(({row, runs, value}) => make('tr', {},
    make('th', {}, swatch(rowColour(row)), data.rows[row].name),
    make('td', {}, single(value, chart.look) + (runs > 1 ? ` (mean of ${runs})` : ''))));
}

function showTip(plot, chart, data, axisLabel) {
  const {left, top} = plot.cursor;
  if (!plot.over.matches(':hover')) return;  // another chart's cursor moved this one's
  const rows = left >= 0 ? tipRows(plot, chart, data) : [];
  if (rows.length === 0) {
    tip.hide();
    return;
  }
  const box = plot.over.getBoundingClientRect();
  const heading = `${short(Number(plot.posToVal(left, 'x').toPrecision(4)))} ${axisLabel}`;
  tip.show(box.left + left, box.top + top,
    make('p', {class: 'tip-head'}, heading), make('table', {}, ...rows));
}

// The places of an axis from min to max in even, round steps: two to seven of them.
function evenPlaces(min, max) {
  if (!(max > min)) return [min];
  const power = 10 ** Math.floor(Math.log10(max - min));
  const step = [0.2, 0.5, 1].map((factor) => factor * power)
    .find((one) => (max - min) / one <= 6) ?? 2 * power;
  const places = [];
  for (let i = Math.ceil(min / step); i * step <= max; i++) {
    places.push(Number((i * step).toPrecision(12)));
  }
  return places;
}

// Those of a logarithmic axis: 1, 2, ... 9 times a power of ten, wherever the data begins.
function logPlaces(min, max) {
  const places = [];
  for (let power = Math.floor(Math.log10(min)); power <= Math.log10(max); power++) {
    for (let digit = 1; digit <= 9; digit++) {
      const place = Number(`${digit}e${power}`);
      if (place >= min && place <= max) places.push(place);
    }
  }
  return places.length > 1 ? places : evenPlaces(min, max);
}

const kLabelDigits = [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]];

// Which places of a logarithmic axis have a label: as many as have room, and two if they exist.
function labelledPlaces(plot, places, axis, space) {
  const digitOf = (place) => Number(place.toExponential().split('e')[0]);
  if (places.some((place) => !Number.isInteger(digitOf(place)))) return places;  // even steps
  const {scale} = plot.axes[axis];
  const decade = Math.abs(plot.valToPos(10, scale) - plot.valToPos(1, scale));
  const gaps = [1, Math.log10(2), Math.log10(10 / 9)];  // the smallest ones, in decades
  const labelled = (digits) =>
    places.map((place) => (digits.includes(digitOf(place)) ? place : null));
  let chosen = labelled(kLabelDigits[0]);
  for (let kind = 1; kind < gaps.length; kind++) {
    const isLonely = chosen.filter((place) => place !== null).length < 2;
    if (isLonely || decade * gaps[kind] >= space) chosen = labelled(kLabelDigits[kind]);
  }
  return chosen;
}

// Which places of an axis have a line.
function gridPlaces(isLog) {
  return (_, places) => {
    const decades = Math.log10(places[places.length - 1] / places[0]);
    if (!isLog || !(decades > kGridDecades)) return places;
    return places.map((place) => (Number.isInteger(Math.log10(place)) ? place : null));
  };
}

function makeAxes(chart, axisLabel, {isLogX, isLogY}) {
  const common = {
    stroke: styleValue('--soft'),
    font: '12px system-ui, sans-serif',
    labelFont: '12px system-ui, sans-serif',
    ticks: {show: false},
  };
  const grid = (isLog) => ({stroke: styleValue('--line'), width: 1, filter: gridPlaces(isLog)});
  const round = (value) => Number(value.toPrecision(6));
  const formats = {
    share: (value) => `${short(round(100 * value))} %`,
    bytes: (value) => bytesText(value, (number) => short(round(number))),
  };
  const texts = (format) => (_, splits) =>
    splits.map((value) => (value === null ? '' : format(round(value))));
  const places = (isLog) => (isLog
    ? {splits: (_, axis, min, max) => logPlaces(min, max), filter: labelledPlaces} : {});
  const below = {label: axisLabel, labelSize: 22, size: 32, values: texts(short)};
  const left = {size: 62, values: texts(formats[chart.look] ?? short)};
  return [{...common, ...below, ...places(isLogX), grid: grid(isLogX)},
    {...common, ...left, ...places(isLogY), grid: grid(isLogY)}];
}

function makeScales(chart, {isLogX, isLogY}) {
  const share = {min: {pad: 0.05, hard: 0}, max: {pad: 0.05, hard: 1}};
  // All that there is begins at zero; what was zoomed in begins where it was asked to.
  const fromZero = (plot, min, max) => [min === plot.data[0][0] ? 0 : min, max];
  // A logarithmic axis ends where the data ends, not at the next power of ten.
  const asData = (plot, min, max) => [min, max];
  const aroundData = (plot, min, max) => {
    const more = (max / min) ** 0.05;
    return more > 1 ? [min / more, max * more] : [min / 2, max * 2];
  };
  return {
    x: isLogX ? {time: false, distr: 3, range: asData} : {time: false, range: fromZero},
    y: isLogY ? {distr: 3, range: aroundData}
      : {range: chart.look === 'share' ? share : undefined},
  };
}

// Whether less than all of x is shown.
function isZoomed(plot) {
  const xs = plot.data[0];
  return xs.length > 0 && (plot.scales.x.min > xs[0] || plot.scales.x.max < xs.at(-1));
}

// view: {axis, isLogX, isLogY, visible}
function makeChart(host, chart, data, view) {
  const {label} = data.axes[view.axis];
  const plot = new uPlot({
    width: host.clientWidth,
    height: kChartHeight,
    legend: {show: false},
    scales: makeScales(chart, view),
    axes: makeAxes(chart, label, view),
    series: [{}, ...makeSeries(chart, data, view.visible)],
    cursor: {
      dataIdx: nearestIndex,
      sync: {key: 'gradwire', setSeries: false},
      points: {size: 8},
      y: false,
    },
    hooks: {setCursor: [(plot) => showTip(plot, chart, data, label)]},
  }, joined(chart, view), host);
  plot.over.addEventListener('mouseleave', tip.hide);
  return plot;
}
