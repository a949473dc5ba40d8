// The table of results, sorted by the heading that was clicked last.
'use strict';

// The column by which a table is sorted stays when a live page gets another document.
const tableSort = {column: null, descending: false};

function makeTable(table, data) {
  const names = data.rows.map(({name}) => name);
  const nameColumn = {name: 'Method', look: 'text', better: 'lower', key: true, values: names,
    best: []};
  const columns = [nameColumn, ...data.columns];
  const body = make('tbody');
  const headings = columns.map((column) => makeHeading(column));
  const rows = data.rows.map((_, row) => makeRow(columns, row));
  const key = ({group, name}) => `${group ?? ''} ${name}`;

  columns.forEach((column, index) => {
    headings[index].firstChild.addEventListener('click', () => {
      const isAgain = tableSort.column === key(column);
      tableSort.descending = isAgain ? !tableSort.descending : bestIsLast(column);
      tableSort.column = key(column);
      sort();
    });
  });

  function sort() {
    const sorted = columns.find((column) => key(column) === tableSort.column);
    const direction = tableSort.descending ? 'descending' : 'ascending';
    columns.forEach((column, index) =>
      headings[index].setAttribute('aria-sort', column === sorted ? direction : 'none'));
    const shown = sorted ? order(sorted, tableSort.descending) : rows.keys();
    body.append(...[...shown].map((row) => rows[row]));
  }

  sort();
  const head = make('thead', {}, makeGroups(columns), make('tr', {}, ...headings));
  const focused = [...table.querySelectorAll('thead button')].indexOf(document.activeElement);
  table.replaceChildren(head, body);
  table.querySelectorAll('thead button')[focused]?.focus();
}

// The first click brings the best to the top.
function bestIsLast(column) {
  return column.better !== 'lower';
}

// Rows without a value come last, whichever way the others go.
function order(column, descending) {
  const {values} = column;
  const compare = (a, b) => (typeof a === 'string' ? a.localeCompare(b) : a - b);
  return values.map((_, row) => row).sort((a, b) => {
    if (values[a] === null || values[b] === null) {
      return (values[a] === null) - (values[b] === null) || a - b;
    }
    return (descending ? -1 : 1) * compare(values[a], values[b]) || a - b;
  });
}

function startsGroup(columns, index) {
  return index > 0 && columns[index].group !== columns[index - 1].group;
}

// The line above the headings: one cell for neighbours of the same group.
function makeGroups(columns) {
  const line = make('tr', {class: 'groups'}, make('td', {class: 'name'}));
  columns.forEach((column, index) => {
    if (!startsGroup(columns, index)) return;
    const width = columns.filter((other) => other.group === column.group).length;
    line.append(make('th', {scope: 'colgroup', colspan: width, class: 'more'}, column.group));
  });
  return line;
}

function makeHeading(column) {
  const arrow = make('span', {class: 'arrow', 'aria-hidden': 'true'});
  const button = make('button', {type: 'button', title: column.hint || null}, ...columnTitle(column), arrow);
  const kind = column.look === 'text' ? 'name' : column.key ? 'number' : 'number more';
  return make('th', {scope: 'col', class: kind, 'aria-sort': 'none'}, button);
}

// A narrow table has no line of groups, without which the name of a link says too little.
function columnTitle({group, name, key}) {
  const isLink = key && name.endsWith('bit/s');
  return isLink ? [make('span', {class: 'narrow-name'}, `${group.split(',')[0]}, `), name] : [name];
}

function makeRow(columns, row) {
  const [names, ...numbers] = columns;
  const line = make('tr', {},
    make('th', {scope: 'row', class: 'name'}, swatch(rowColour(row)), names.values[row]));
  numbers.forEach((column, index) => {
    const classes = ['number'];
    if (startsGroup(columns, index + 1)) classes.push('first');
    if (!column.key) classes.push('more');
    const cell = make('td', {class: classes.join(' ')});
    const text = columnFormat(column.values, column.look)(column.values[row]);
    cell.append(column.best.includes(row) ? make('span', {class: 'best'}, text) : text);
    const spread = spreadText(column, row);
    if (spread) cell.append(make('span', {class: 'spread'}, spread));
    line.append(cell);
  });
  return line;
}

// " ± 0.12", in the decimals of the value.
function spreadText({values, spreads, look}, row) {
  const spread = spreads[row];
  const isResult = look === 'share' || look === 'points' || look === 'value';
  if (spread === null || !isResult) return '';
  if (values[row] === 0 && spread === 0) return '';  // the first row, which differs by nothing
  if (look === 'share') return ` ± ${fixed(100 * spread, 2)}`;
  if (look === 'points') return ` ± ${fixed(spread, 2)}`;
  const least = Math.min(...values.filter((value) => value !== null && value !== 0).map(Math.abs));
  return ` ± ${least < kSmall ? scientific(spread, 2) : fixed(spread, 4)}`;
}

// On narrow screens the table has its key columns until all are asked for.
function makeColumnSwitch(table) {
  const button = makeSwitch('all columns', 'Show all columns', false, () =>
    table.classList.toggle('all', isPressed(button)));
  button.classList.add('narrow-only');
  return button;
}
