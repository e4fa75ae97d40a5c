// Jest runs each test file in a vm context of its own, and compiles every module again for each of them, functions that are
// called included. Here the worker keeps each compiled script, so a later file only runs it. Its modules, their state and its
// globals are still its own.
const { AsyncLocalStorage } = require('node:async_hooks');
const vm = require('node:vm');
const { TestEnvironment } = require('jest-environment-node');

require('./optimise-late.cjs');
// This runs once in a worker, and not once in each test file.
require('./note-server-faults.cjs');

const { compileFunction } = vm;
/** By file name. A Jest option such as --coverage may change the code, so that is compared too. */
const compiled = new Map();

vm.compileFunction = (code, parameters, options) => {
  const { filename, parsingContext } = options;
  if (parsingContext === undefined) return compileFunction(code, parameters, options);
  let known = compiled.get(filename);
  if (known?.code !== code) {
    const head = `(function (${parameters.join()}) {`;
    // The negative offset keeps the columns of the first line right. Jest's `importModuleDynamically` is left out: without
    // --experimental-vm-modules it only throws, and V8 would keep nothing.
    known = { code, script: new vm.Script(`${head}${code}\n})`, { filename, columnOffset: -head.length }) };
    compiled.set(filename, known);
  }
  return known.script.runInContext(parsingContext);
};

// In Node 20 each promise costs time for each AsyncLocalStorage in use, those of test files that have ended included.
const used = new Set();
for (const name of ['run', 'enterWith']) {
  const { [name]: method } = AsyncLocalStorage.prototype;
  AsyncLocalStorage.prototype[name] = function (...args) {
    used.add(this);
    return method.apply(this, args);
  };
}

module.exports = class extends TestEnvironment {
  async teardown() {
    await super.teardown();
    for (const storage of used) storage.disable();
    used.clear();
  }
};
