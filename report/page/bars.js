// Where the time goes: a bar for each row, with a stretch for each part of a step.
'use strict';

function makeBars(data) {
  const known = data.rows.map((_, row) => row).filter((row) => data.bars[row] !== null);
  byId('time').hidden = known.length === 0;
  byId('parts').replaceChildren(...data.parts.map((part, index) =>
    make('li', {}, swatch(`var(--part-${index})`), part)));
  byId('bars').replaceChildren(...known.map((row) => makeBar(data, row)));
}

function makeBar(data, row) {
  const {ms, percent, total_ms: total} = data.bars[row];
  const {name} = data.rows[row];
  const texts = ms.map((value, part) => `${data.parts[part]} ${significant(value, 3)} ms`);
  const bar = make('div', {class: 'bar', role: 'img', 'aria-label': texts.join(', ')});
  ms.forEach((value, part) => {
    if (!(percent[part] > 0)) return;
    const stretch = make('span', {class: 'stretch'});
    stretch.style.width = `${percent[part]}%`;
    stretch.style.background = `var(--part-${part})`;
    bar.append(stretch);
  });
  bar.addEventListener('mousemove', (event) => tip.show(event.clientX, event.clientY,
    make('p', {class: 'tip-head'}, name),
    make('table', {}, ...ms.map((value, part) => make('tr', {},
      make('th', {}, swatch(`var(--part-${part})`), data.parts[part]),
      make('td', {}, `${significant(value, 3)} ms`))))));
  bar.addEventListener('mouseleave', tip.hide);
  const clock = total === null ? '' : `${significant(total, 3)} ms by the clock`;
  return make('div', {class: 'bar-line'},
    make('div', {class: 'bar-name'}, swatch(rowColour(row)), name),
    bar, make('div', {class: 'bar-total'}, clock));
}
