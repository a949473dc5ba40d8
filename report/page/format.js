// How numbers look. A number that is not there is null, and looks like a dash.
'use strict';

const kDash = '–';
const kSmall = 1e-3;  // below it a loss is written with an exponent

function fixed(value, decimals) {
  return value.toLocaleString('en', {
    minimumFractionDigits: decimals,
    maximumFractionDigits: decimals,
  });
}

function scientific(value, digits) {
  return value.toExponential(digits - 1).replace('e-', 'e−').replace('e+', 'e');
}

// So many decimals that this value has that many digits that count.
function decimalsFor(value, digits, most) {
  if (!(Math.abs(value) > 0) || !Number.isFinite(value)) return 0;
  return Math.min(most, Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value)))));
}

function significant(value, digits) {
  if (value === null || value === undefined) return kDash;
  const size = Math.abs(value);
  if (size > 0 && (size < kSmall || size >= 1e9)) return scientific(value, digits);
  return fixed(value, decimalsFor(value, digits, 9));
}

// A number by itself, as in a tip.
function single(value, look) {
  if (value === null || value === undefined) return kDash;
  if (look === 'share') return fixed(100 * value, 2) + ' %';
  return significant(value, 4);
}

const kByteUnits = [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']];

// A number of bytes in the unit that suits it: 1.63 MB.
function bytesText(value, format = (number) => significant(number, 3)) {
  if (value === null) return kDash;
  if (value === 0) return '0';
  const [size, unit] = kByteUnits.find(([least]) => value >= least) ?? [1, 'B'];
  return `${format(value / size)} ${unit}`;
}

// A number in its unit, by itself. Milliseconds add up to seconds.
function unitText(value, unit) {
  if (value === null) return kDash;
  if (unit === 'bytes') return bytesText(value);
  if (unit === 'ms') return `${significant(value / 1e3, 3)} s`;
  return unit ? `${significant(value, 3)} ${unit}` : significant(value, 3);
}

// A round number, as at an axis: no more digits than it has.
function short(value) {
  const size = Math.abs(value);
  if (size > 0 && (size < kSmall || size >= 1e9)) {
    return value.toExponential().replace('e-', 'e−').replace('e+', 'e');
  }
  return value.toLocaleString('en', {maximumFractionDigits: 6});
}

// A function that formats the values of one column, all with as many decimals, so that the points
// stand below each other.
function columnFormat(values, look) {
  const sizes = values.filter((value) => value !== null && value !== 0).map(Math.abs);
  const least = Math.min(...sizes);
  const known = (format) => (value) => (value === null ? kDash : format(value));
  switch (look) {
    case 'share':
      return known((value) => fixed(100 * value, 2) + ' %');
    case 'points':
      return known((value) => (value > 0 ? '+' : '') + fixed(value, 2).replace('-', '−'));
    case 'ratio':
      return known((value) => fixed(value, least < 10 ? 2 : 1) + '×');
    case 'count':
      return known((value) => fixed(value, 0));
    case 'megabytes':
      return known((value) => fixed(value, sizes.length ? decimalsFor(least, 3, 3) : 0));
    case 'milliseconds':
      return known((value) =>
        fixed(value, Math.max(1, decimalsFor(least, 3, least < 0.1 ? 3 : 2))));
    default:
      if (least < kSmall) return known((value) => scientific(value, 3));
      return known((value) => fixed(value, 4));
  }
}
