// All charts, with what they share: the axis, and which runs are shown.
'use strict';

const kFaded = 0.25;  // of curves while another row is pointed at

// Several runs are compared by what they sent; one run is followed by its steps.
function firstAxis(data) {
  const bytes = data.axes.findIndex(({name}) => name === 'MB sent');
  return data.runs.length > 1 && bytes >= 0 ? bytes : 0;
}

// What stays when a live page gets another document: the axis and the rows that were chosen.
const chosenView = {axis: null, hidden: new Set(), logCharts: new Map()};

// Charts that are there are given the new points, unless there are other runs, charts, curves or
// axes.
let shownCharts = null;

function showCharts(data) {
  const is = data.charts.length > 0 && data.axes.length > 0;
  byId('curves').hidden = !is;
  if (!is) return;
  const charts = data.charts.map((chart) => [chart.title, isSmoothed(chart)]);
  const kind = JSON.stringify([data.runs, data.rows, data.row_of, data.axes, charts]);
  if (shownCharts?.kind === kind) {
    shownCharts.update(data);
  } else {
    shownCharts?.remove();
    shownCharts = makeCharts(data, kind);
  }
  byId('averaged').hidden = !data.charts.some((chart) => chart.averaged);
  byId('smoothed').hidden = !data.charts.some(isSmoothed);
}

function makeCharts(data, kind) {
  const named = data.axes.findIndex(({name}) => name === chosenView.axis);
  const axis = named < 0 ? firstAxis(data) : named;
  const view = {
    axis,
    isLogX: data.axes[axis].log,
    visible: data.rows.map(({name}) => !chosenView.hidden.has(name)),
  };
  const charts = data.charts.map((chart) => makeCard(chart, (card) => draw(card)));
  byId('charts').replaceChildren(...charts.map((each) => each.card));

  function draw(each) {
    each.plot?.destroy();
    each.plot = makeChart(each.host, each.chart, data, {...view, isLogY: each.isLog()});
    each.host.plot = each.plot;
  }

  function drawAll() {
    tip.hide();
    charts.forEach(draw);
  }

  byId('axes').replaceChildren();
  makeAxisSwitch(data, axis, (chosen, isLogX) => {
    chosenView.axis = data.axes[chosen].name;
    Object.assign(view, {axis: chosen, isLogX});
    drawAll();
  });
  byId('legend').replaceChildren();
  makeLegend(data, view.visible, {
    show(row, isVisible) {
      view.visible[row] = isVisible;
      chosenView.hidden[isVisible ? 'delete' : 'add'](data.rows[row].name);
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
    for (const {chart, plot} of charts) {
      data.row_of.forEach((other, run) => {
        if (other !== row) return;
        for (const series of seriesOf(chart, run)) act(plot, series);
      });
    }
  }

  byId('curves').hidden = false;  // so that charts have a width
  drawAll();
  followWidths(charts);

  return {
    kind,
    drawAll,
    // A chart in which somebody has zoomed stays there.
    update(newer) {
      newer.charts.forEach((chart, index) => {
        const each = charts[index];
        if (JSON.stringify(chart.curves) === JSON.stringify(each.chart.curves)) return;
        Object.assign(each.chart, chart);
        const points = joined(each.chart, {...view, isLogY: each.isLog()});
        if (isZoomed(each.plot)) {
          each.plot.setData(points, false);
          each.plot.redraw();
        } else {
          each.plot.setData(points);
        }
      });
    },
    remove() {
      tip.hide();
      forgetWidths(charts);
      for (const {plot} of charts) plot.destroy();
    },
  };
}

theme.onChange(() => shownCharts?.drawAll());
addEventListener('scroll', tip.hide, {passive: true});

// One observer for all plots: it must be told of those that are gone.
const widthObserver = new ResizeObserver((entries) => {
  for (const {target} of entries) {
    const {plot} = target;
    const width = target.clientWidth;
    if (plot && width > 0 && width !== plot.width) plot.setSize({width, height: plot.height});
  }
});

function followWidths(charts) {
  for (const {host} of charts) widthObserver.observe(host);
}

function forgetWidths(charts) {
  for (const {host} of charts) widthObserver.unobserve(host);
}

// A heading, a switch for the logarithmic scale where that makes sense, and room for the plot.
function makeCard(chart, draw) {
  const host = make('div', {class: 'plot', role: 'img', 'aria-label': chart.title});
  const each = {host, chart, plot: null};
  const log = makeSwitch('log', 'Logarithmic scale', chosenView.logCharts.get(chart.title) ?? chart.log,
    () => {
      chosenView.logCharts.set(chart.title, isPressed(log));
      draw(each);
    });
  log.hidden = chart.look === 'share';
  each.isLog = () => isPressed(log);
  const head = make('div', {class: 'card-head'}, make('h3', {}, chart.title), log);
  each.card = make('figure', {class: 'card chart'}, head, host);
  return each;
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
function makeAxisSwitch(data, first, choose) {
  const isLog = data.axes.map((axis) => axis.log);
  let chosen = first;
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

function makeLegend(data, visible, {show, focus}) {
  byId('legend').append(...data.rows.map(({name}, row) => {
    const button = make('button', {type: 'button', 'aria-pressed': visible[row]},
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
