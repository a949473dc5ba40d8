// Puts page/page.html with its scripts and style sheets into one text, and that into a C++ source.
//   node inline.mjs NODE_MODULES OUTPUT
import {existsSync, readFileSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {fileURLToPath} from 'node:url';

const [modules, output] = process.argv.slice(2);
const page = join(dirname(fileURLToPath(import.meta.url)), 'page');

// Our own files, or else those of a package.
function read(name) {
  const own = join(page, name);
  return readFileSync(existsSync(own) ? own : join(modules, name), 'utf8').trim();
}

function inside(name, end) {
  const text = read(name);
  if (text.toLowerCase().includes(end)) throw new Error(`${name} has ${end} in it`);
  return text;
}

const html = read('page.html')
  .replace(/<script src="([^"]+)"><\/script>/g,
    (_, name) => `<script>\n${inside(name, '</script')}\n</script>`)
  .replace(/<link rel="stylesheet" href="([^"]+)">/g,
    (_, name) => `<style>\n${inside(name, '</style')}\n</style>`)
  .replace(/<!-- notice: (\S+) -->/g, (_, name) => `<!-- ${name}\n\n${inside(name, '--')}\n-->`);

// Numbers: compilers need not take string literals of more than 65,536 bytes.
const bytes = [...Buffer.from(html + '\n')];
const lines = [];
for (let i = 0; i < bytes.length; i += 24) lines.push(bytes.slice(i, i + 24).join(','));

writeFileSync(output, `// Made by report/inline.mjs.
#include "report/page_template.h"

namespace gradwire::report {
namespace {

constexpr unsigned char kBytes[] = {
${lines.join(',\n')}};

}  // namespace

std::string_view page_template() { return {reinterpret_cast<const char*>(kBytes), sizeof kBytes}; }

}  // namespace gradwire::report
`);
