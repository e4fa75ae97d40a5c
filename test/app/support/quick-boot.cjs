// Lets a built program start with less CPU. `--require` loads this file before the program.
const Module = require('node:module');
const { dirname, join } = require('node:path');
require('./quick-wasm.cjs');
require('../../support/transpile.cjs');

// The command line of umzug, which the app never uses, would load 170 modules.
const cli = join(dirname(require.resolve('umzug')), 'cli.js');
require.cache[cli] = Object.assign(new Module(cli), { filename: cli, loaded: true });
