// Runs a TypeScript file, whose path is an argument, in a process of its own and without a build.
const Module = require('node:module');
const { join } = require('node:path');
require('./transpile.cjs');

const root = join(__dirname, '..', '..');
// A folder with a built package, which then replaces the sources.
const built = process.env.LUANEST_TEST_PACKAGE;
const doorOf = (lib, room) =>
  built ? join(built, 'dist', 'libs', lib, 'src', room, 'index.js') : join(root, 'libs', lib, 'src', room, 'index.ts');

const resolve = Module._resolveFilename;
Module._resolveFilename = function (given, ...rest) {
  // ES modules name what they import as it is after the build.
  const request = /\.ts$/.test(rest[0]?.filename) ? given.replace(/^(\..*)\.js$/, '$1') : given;
  const [, lib, room = ''] = /^luanest\/([^/]+)\/?(.*)$/.exec(request) ?? [];
  return resolve.call(this, lib === undefined ? request : doorOf(lib, room), ...rest);
};
require('reflect-metadata');
require(process.argv[2]);
