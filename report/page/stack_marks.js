// What is drawn on the canvas of a stack beside its columns: the bands above, and how high the
// columns are that were cut.
'use strict';

const kBandColours = 3;
const kStripHeight = 16;   // of the bands
const kStripGap = 5;
const kInterruption = 4;   // pixels of another band that do not part a name in two

// Stronger for each of the usual values in their order.
function bandColour({word}) {
  return word === null ? '--line' : `--band-${word % kBandColours}`;
}

// Neighbouring columns of the same band: {band, from, to, columns}
function stretchesOf(stack) {
  const stretches = [];
  stack.band.forEach((band, column) => {
    if (column === 0 || band !== stack.band[column - 1]) {
      stretches.push({band: stack.bands[band], from: stack.edges[column], columns: []});
    }
    stretches.at(-1).to = stack.edges[column + 1];
    stretches.at(-1).columns.push(column);
  });
  return stretches;
}

// The part of a stretch that is in sight, in pixels of the canvas; null where there is none.
function placeOf(plot, {from, to}) {
  const {left, width} = plot.bbox;
  const begin = Math.max(left, plot.valToPos(from, 'x', true));
  const end = Math.min(left + width, plot.valToPos(to, 'x', true));
  return end > begin ? {begin, end} : null;
}

function onCanvas(plot, act) {
  const {ctx} = plot;
  ctx.save();
  ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
  ctx.textBaseline = 'middle';
  act(ctx, devicePixelRatio);
  ctx.restore();
}

// A strip above the plot, with the names where they fit.
function drawBands(plot, stack) {
  onCanvas(plot, (ctx, ratio) => {
    const height = kStripHeight * ratio;
    const top = plot.bbox.top - height - kStripGap * ratio;
    const labels = [];
    for (const stretch of stretchesOf(stack)) {
      const place = placeOf(plot, stretch);
      if (place === null) continue;
      ctx.fillStyle = styleValue(bandColour(stretch.band));
      ctx.fillRect(place.begin, top, place.end - place.begin, height);
      addLabel(labels, stretch.band.name, place, kInterruption * ratio);
    }
    ctx.fillStyle = styleValue('--ink');
    ctx.textAlign = 'center';
    for (const {name, begin, end} of labels) {
      if (ctx.measureText(name).width + 8 * ratio > end - begin) continue;
      ctx.fillText(name, (begin + end) / 2, top + height / 2);
    }
  });
}

// One more place for a name; or the last one of that name goes on, if it ended just before.
function addLabel(labels, name, {begin, end}, interruption) {
  const last = labels.findLast((label) => label.name === name);
  if (last && begin - last.end <= interruption) last.end = end;
  else labels.push({name, begin, end});
}

// How high the columns are that go beyond the top.
function drawCutMarks(plot, {section, stack}) {
  onCanvas(plot, (ctx, ratio) => {
    ctx.fillStyle = styleValue('--ink');
    ctx.textAlign = 'left';
    for (const stretch of stretchesOf(stack)) {
      const place = placeOf(plot, stretch);
      const height = highest(stack, stretch.columns);
      if (place === null || height <= plot.scales.y.max) continue;
      ctx.fillText(`↑ ${unitText(height, section.unit)}`, place.begin + 5 * ratio,
        plot.bbox.top + 10 * ratio);
    }
  });
}
