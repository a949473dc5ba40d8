// The table of results, sorted by the heading that was clicked last.
'use strict';

function makeTable(table, data) {
  const nameColumn = {name: 'Method', look: 'text', better: 'lower', values: data.runs, best: []};
  const columns = [nameColumn, ...data.columns];
  const body = make('tbody');
  const headings = columns.map((column) => makeHeading(column));
  const rows = data.runs.map((_, run) => makeRow(columns, run));
  let sorted = {column: -1, descending: false};

  columns.forEach((column, index) => {
    headings[index].firstChild.addEventListener('click', () => {
      const isAgain = sorted.column === index;
      sorted = {column: index, descending: isAgain ? !sorted.descending : bestIsLast(column)};
      headings.forEach((heading, i) => heading.setAttribute('aria-sort', direction(i)));
      body.append(...order(column, sorted.descending).map((run) => rows[run]));
    });
  });

  function direction(index) {
    if (index !== sorted.column) return 'none';
    return sorted.descending ? 'descending' : 'ascending';
  }

  body.append(...rows);
  const head = make('thead', {}, makeGroups(columns), make('tr', {}, ...headings));
  table.replaceChildren(head, body);
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
