// The table of results, sorted by the heading that was clicked last.
'use strict';

// The column by which a table is sorted stays when a live page gets another document.
const tableSort = {column: null, descending: false};

function makeTable(table, data) {
  const nameColumn = {name: 'Method', look: 'text', better: 'lower', values: data.runs, best: []};
  const columns = [nameColumn, ...data.columns];
  const body = make('tbody');
  const headings = columns.map((column) => makeHeading(column));
  const rows = data.runs.map((_, run) => makeRow(columns, run));
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
    const runs = sorted ? order(sorted, tableSort.descending) : rows.keys();
    body.append(...[...runs].map((run) => rows[run]));
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

// Runs without a value come last, whichever way the others go.
function order(column, descending) {
  const {values} = column;
  const compare = (a, b) => (typeof a === 'string' ? a.localeCompare(b) : a - b);
  return values.map((_, run) => run).sort((a, b) => {
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
    line.append(make('th', {scope: 'colgroup', colspan: width}, column.group));
  });
  return line;
}

function makeHeading(column) {
  const arrow = make('span', {class: 'arrow', 'aria-hidden': 'true'});
  const button = make('button', {type: 'button', title: column.hint || null}, column.name, arrow);
  const kind = column.look === 'text' ? 'name' : 'number';
  return make('th', {scope: 'col', class: kind, 'aria-sort': 'none'}, button);
}

function makeRow(columns, run) {
  const [names, ...numbers] = columns;
  const row = make('tr', {},
    make('th', {scope: 'row', class: 'name'}, swatch(runColour(run)), names.values[run]));
  numbers.forEach((column, index) => {
    const text = columnFormat(column.values, column.look)(column.values[run]);
    const classes = ['number'];
    if (startsGroup(columns, index + 1)) classes.push('first');
    const cell = make('td', {class: classes.join(' ')});
    cell.append(column.best.includes(run) ? make('span', {class: 'best'}, text) : text);
    row.append(cell);
  });
  return row;
}
