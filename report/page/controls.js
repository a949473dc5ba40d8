// All charts, with what they share: the axis, and which runs are shown.
'use strict';

const kFaded = 0.25;  // of curves while another row is pointed at

// Several runs are compared by what they sent; one run is followed by its steps.
function firstAxis(data) {
  const bytes = data.axes.findIndex(({name}) => name === 'MB sent');
  return data.runs.length > 1 && bytes >= 0 ? bytes : 0;
}

function makeCharts(data) {
  const axis = firstAxis(data);
  const view = {axis, isLogX: data.axes[axis].log, visible: data.rows.map(() => true)};
  const charts = data.charts.map((chart) => makeCard(chart, () => draw(chart)));
  byId('charts').append(...charts.map((each) => each.card));

  function draw(chart) {
    const each = charts[data.charts.indexOf(chart)];
    each.plot?.destroy();
    each.plot = makeChart(each.host, chart, data, {...view, isLogY: each.isLog()});
    each.host.plot = each.plot;
  }

  function drawAll() {
    tip.hide();
    data.charts.forEach(draw);
  }

  makeAxisSwitch(data, (axis, isLogX) => {
    Object.assign(view, {axis, isLogX});
    drawAll();
  });
  makeLegend(data, {
    show(row, isVisible) {
      view.visible[row] = isVisible;
      eachSeries(row, (plot, series) => plot.setSeries(series, {show: isVisible}));
    },
    focus(row) {
      for (const {plot} of charts) {
        plot.series.forEach((series) => { series.alpha = row === null ? 1 : kFaded; });
      }
      if (row !== null) eachSeries(row, (plot, series) => { plot.series[series].alpha = 1; });
      for (const {plot} of charts) plot.redraw(false);
    },
  });

  function eachSeries(row, act) {
    data.charts.forEach((chart, index) => data.row_of.forEach((other, run) => {
      if (other !== row) return;
      for (const series of seriesOf(chart, run)) act(charts[index].plot, series);
    }));
  }

  drawAll();
  theme.onChange(drawAll);
  addEventListener('scroll', tip.hide, {passive: true});
  followWidths(charts);
  byId('averaged').hidden = !data.charts.some((chart) => chart.averaged);
  byId('smoothed').hidden = !data.charts.some(isSmoothed);
  byId('curves').hidden = false;
}

function followWidths(charts) {
  const observer = new ResizeObserver(() => {
    for (const {host, plot} of charts) {
      const width = host.clientWidth;
      if (width > 0 && width !== plot.width) plot.setSize({width, height: plot.height});
    }
  });
  for (const {host} of charts) observer.observe(host);
}

// A heading, a switch for the logarithmic scale where that makes sense, and room for the plot.
function makeCard(chart, draw) {
  const host = make('div', {class: 'plot', role: 'img', 'aria-label': chart.title});
  const log = makeSwitch('log', 'Logarithmic scale', chart.log, draw);
  log.hidden = chart.look === 'share';
  const isLog = () => isPressed(log);
  const head = make('div', {class: 'card-head'}, make('h3', {}, chart.title), log);
  return {card: make('figure', {class: 'card chart'}, head, host), host, isLog, plot: null};
}

function isPressed(button) {
  return button.getAttribute('aria-pressed') === 'true';
}

function makeSwitch(text, title, pressed, act) {
  const attributes = {type: 'button', class: 'quiet', title, 'aria-pressed': pressed};
  const button = make('button', attributes, text);
  button.addEventListener('click', () => {
    button.setAttribute('aria-pressed', !isPressed(button));
    act();
  });
  return button;
}

// A button for each axis, and a switch for the logarithmic scale, which each axis has its own way.
function makeAxisSwitch(data, choose) {
  const isLog = data.axes.map((axis) => axis.log);
  let chosen = firstAxis(data);
  const buttons = data.axes.map(({name, label}, index) => {
    const attributes = {type: 'button', title: label, 'aria-pressed': index === chosen};
    const button = make('button', attributes, name);
    button.addEventListener('click', () => {
      chosen = index;
      buttons.forEach((other) => other.setAttribute('aria-pressed', other === button));
      log.setAttribute('aria-pressed', isLog[chosen]);
      choose(chosen, isLog[chosen]);
    });
    return button;
  });
  const log = makeSwitch('log', 'Logarithmic horizontal axis', isLog[chosen], () => {
    isLog[chosen] = isPressed(log);
    choose(chosen, isLog[chosen]);
  });
  log.id = 'log-x';
  byId('axes').append(...buttons, log);
}

function makeLegend(data, {show, focus}) {
  byId('legend').append(...data.rows.map(({name}, row) => {
    const button = make('button', {type: 'button', 'aria-pressed': true},
      swatch(rowColour(row)), make('span', {class: 'legend-name'}, name));
    button.addEventListener('click', () => {
      const isVisible = !isPressed(button);
      button.setAttribute('aria-pressed', isVisible);
      show(row, isVisible);
    });
    button.addEventListener('mouseenter', () => focus(row));
    button.addEventListener('mouseleave', () => focus(null));
    return button;
  }));
}
