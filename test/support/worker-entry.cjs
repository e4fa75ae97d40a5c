// Runs a TypeScript file, whose path is an argument, in a process of its own and without a build.
const Module = require('node:module');
const { join } = require('node:path');
require('./transpile.cjs');

const root = join(__dirname, '..', '..');
const resolve = Module._resolveFilename;
Module._resolveFilename = function (given, ...rest) {
  // ES modules name what they import as it is after the build.
  const request = /\.ts$/.test(rest[0]?.filename) ? given.replace(/^(\..*)\.js$/, '$1') : given;
  const [, lib, room = ''] = /^luanest\/([^/]+)\/?(.*)$/.exec(request) ?? [];
  return resolve.call(this, lib === undefined ? request : join(root, 'libs', lib, 'src', room, 'index.ts'), ...rest);
};
require('reflect-metadata');
require(process.argv[2]);
