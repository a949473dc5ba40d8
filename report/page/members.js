// The members of elastic runs: a lane for each over the steps, and a mark for each change.
'use strict';

const kLaneHeight = 16;
const kLaneGap = 4;
const kLaneNames = 84;
const kLanesWidth = 1000;  // of the drawing, whatever it is on the screen

function makeMembers(data) {
  const known = data.runs.map((_, run) => run).filter((run) => data.members[run] !== null);
  byId('members').hidden = known.length === 0;
  byId('lanes').replaceChildren(
    ...known.map((run) => makeLanes(data.runs[run], run, data.members[run])));
}

function draw(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function makeLanes(name, run, {first, last, lanes, changes}) {
  const height = lanes.length * (kLaneHeight + kLaneGap) + 22;
  const x = (step) =>
    kLaneNames + (kLanesWidth - kLaneNames - 4) * (step - first) / Math.max(1, last + 1 - first);
  const svg = draw('svg', {class: 'lanes', viewBox: `0 0 ${kLanesWidth} ${height}`, role: 'img',
    'aria-label': `${plural(lanes.length, 'member')} over steps ${first} to ${last}, ` +
      plural(changes.length, 'change')});
  lanes.forEach((lane, index) => svg.append(...makeLane(lane, index, run, x)));
  for (const change of changes) svg.append(makeChange(change, x, height - 18));
  for (const step of [first, Math.round((first + last) / 2), last]) {
    svg.append(draw('text', {class: 'lane-step', x: x(step), y: height - 4,
      'text-anchor': step === first ? 'start' : step === last ? 'end' : 'middle'},
    `step ${fixed(step, 0)}`));
  }
  const losses = changes.reduce((sum, change) =>
    sum + change.departed.filter(({why}) => why !== 'left').length, 0);
  const slowest = Math.max(0, ...changes.map(({ms}) => ms));
  return make('figure', {class: 'card chart'},
    make('div', {class: 'card-head'}, make('h3', {}, swatch(runColour(run)), name),
      make('span', {class: 'note'}, `${plural(lanes.length, 'member')}, ` +
        `${plural(changes.length, 'view')}, ${fixed(losses, 0)} lost; ` +
        `the slowest change took ${significant(slowest, 3)} ms`)), svg);
}

function makeLane(lane, index, run, x) {
  const top = index * (kLaneHeight + kLaneGap);
  const isLost = lane.end !== '' && lane.end !== 'left';
  const bar = draw('rect', {class: 'lane', x: x(lane.from), y: top, height: kLaneHeight, rx: 3,
    width: Math.max(1.5, x(lane.to) - x(lane.from)), fill: `var(--row-${index % 8})`});
  const parts = [draw('text', {class: 'lane-name', x: 0, y: top + 12}, lane.name), bar];
  if (isLost) {
    parts.push(draw('path', {class: 'lane-lost',
      d: `M${x(lane.to) - 4} ${top + 4}l8 8m0 -8l-8 8`}));
  }
  const rows = [['Address', lane.address], ['First step', fixed(lane.from, 0)],
    ['Last step', fixed(lane.to - 1, 0)],
    ['End', lane.end === '' ? 'there to the last step' : lane.end]];
  for (const part of parts) addTip(part, lane.name, rows);
  return parts;
}

function makeChange(change, x, height) {
  const at = x(change.step + 1);
  const mark = draw('line', {class: 'lane-change', x1: at, x2: at, y1: 0, y2: height});
  const rows = [['After step', fixed(change.step, 0)], ['Members', fixed(change.members, 0)],
    ['Change', `${significant(change.ms, 3)} ms`]];
  if (change.joined.length > 0) rows.push(['Joined', change.joined.join(', ')]);
  for (const {name, why, lost_memory: lost} of change.departed) {
    rows.push([`${name} departed`, `${why}${lost ? '; its memory is lost' : ''}`]);
  }
  addTip(mark, `View ${change.view}`, rows);
  return mark;
}

function addTip(element, head, rows) {
  element.addEventListener('mousemove', (event) => tip.show(event.clientX, event.clientY,
    make('p', {class: 'tip-head'}, head),
    make('table', {}, ...rows.map(([name, value]) =>
      make('tr', {}, make('th', {}, name), make('td', {}, value))))));
  element.addEventListener('mouseleave', tip.hide);
}
