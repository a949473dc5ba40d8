// What an adapting method chose: a map a run, a line a layer, a cell a plan.
'use strict';

function makePlans(data) {
  const runs = data.runs.map((_, run) => run).filter((run) => data.plans[run] !== null);
  const maps = runs.map((run) => makeMap(data.runs[run], run, data.plans[run]));
  if (maps.length === 0) return;
  byId('maps').append(...maps);
  byId('plans').hidden = false;
}

function makeMap(name, run, plans) {
  const all = plans.layers.flatMap((layer) => layer.bits).filter((bits) => bits !== null);
  const range = {least: Math.min(...all), most: Math.max(...all)};
  const table = make('table', {class: 'map'});
  const mean = {name: 'whole model', elements: null, bits: plans.mean_bits, choices: null};
  table.append(make('tbody', {},
    ...[mean, ...plans.layers].map((layer) => makeLayer(layer, plans, range))));
  table.append(make('tfoot', {}, make('tr', {}, make('td'),
    make('td', {colspan: plans.steps.length},
      make('div', {class: 'ends'},
        make('span', {}, stepText(plans.steps[0])),
        make('span', {}, plans.steps.length > 1 ? stepText(plans.steps.at(-1)) : ''))))));
  return make('figure', {class: 'card'},
    make('div', {class: 'card-head'},
      make('h3', {}, swatch(runColour(run)), name), makeScale(plans, range)),
    make('div', {class: 'scroll', role: 'region', 'aria-label': `Bits per layer, ${name}`,
      tabindex: '0'}, table));
}

function stepText(step) {
  return step === null ? '' : `step ${short(step)}`;
}

function makeScale(plans, {least, most}) {
  const shown = plans.steps.length;
  const count = shown < plans.plans ? `${shown} of ${plans.plans} plans` : `${shown} plans`;
  return make('p', {class: 'scale'}, `${count} · ${significant(least, 3)} bits`,
    make('span', {class: 'scale-bar', 'aria-hidden': 'true'}), `${significant(most, 3)} bits`);
}

function makeLayer(layer, plans, {least, most}) {
  const line = make('tr', {class: layer.choices ? null : 'mean'},
    make('th', {scope: 'row'}, layer.name));
  layer.bits.forEach((bits, plan) => {
    const cell = make('td');
    if (bits !== null) {
      const share = most > least ? (bits - least) / (most - least) : 1;
      cell.style.setProperty('--level', share.toFixed(3));
      cell.className = 'cell';
    }
    cell.addEventListener('mousemove', (event) => tip.show(event.clientX, event.clientY,
      make('p', {class: 'tip-head'}, layer.name), ...cellTexts(layer, plans, plan)));
    cell.addEventListener('mouseleave', tip.hide);
    line.append(cell);
  });
  return line;
}

function cellTexts(layer, plans, plan) {
  const texts = [`${significant(layer.bits[plan], 3)} bits per element`];
  if (layer.choices?.[plan]) texts.push(layer.choices[plan]);
  if (layer.elements !== null) texts.push(`${short(layer.elements)} elements`);
  texts.push(stepText(plans.steps[plan]));
  return texts.map((text) => make('p', {}, text));
}
