// Makes a process that a test starts load TypeScript files and load Nest quickly. Keeps what it transpiled (Nest too) in a temporary
// folder, and loads a package when a name from it is first used.
require('./optimise-late.cjs');
const { createHash } = require('node:crypto');
const { mkdirSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { version } = require('@swc/core/package.json');

const folder = join(tmpdir(), `luanest-workers-${process.getuid?.() ?? ''}`);
mkdirSync(folder, { recursive: true });

/** Returns a file as CommonJS. */
function transpile(filename, syntax, lazy = true, source = readFileSync(filename, 'utf8')) {
  const options = {
    jsc: {
      target: 'es2023',
      parser: { syntax, decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
    },
    module: { type: 'commonjs', lazy },
  };
  const hash = createHash('sha256')
    .update(JSON.stringify([version, options, source]))
    .digest('hex');
  const file = join(folder, hash);
  let code;
  try {
    code = readFileSync(file, 'utf8');
  } catch {
    ({ code } = require('@swc/core').transformSync(source, { ...options, filename }));
    // Other processes may read it already.
    writeFileSync(`${file}.${process.pid}`, code);
    renameSync(`${file}.${process.pid}`, file);
  }
  return code;
}

function compile(module, filename, syntax) {
  module._compile(transpile(filename, syntax), filename);
}

const js = require.extensions['.js'];
require.extensions['.ts'] = (module, filename) => compile(module, filename, 'typescript');
require.extensions['.js'] = (module, filename) =>
  /[\\/]node_modules[\\/]@nestjs[\\/]/.test(filename) ? compile(module, filename, 'ecmascript') : js(module, filename);

module.exports = { transpile };
