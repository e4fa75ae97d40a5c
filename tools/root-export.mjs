// Writes dist/index.js and dist/index.d.ts, which throw an error that names the subpaths, because luanest has no root export.
// Run it after the build of the libs.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const DIST = new URL('../dist/', import.meta.url);
const { exports } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

const doors = Object.keys(exports)
  .filter((path) => path !== '.' && path !== './package.json')
  .map((path) => path.replace('.', 'luanest'));
const names = new Set(doors.flatMap((door) => Object.keys(require(door))));
const message = `luanest has no root export. Import from one of these: ${doors.join(', ')}.`;

const code = `'use strict';
throw new Error(${JSON.stringify(message)});
// Node links the named imports of an ES module before it runs this file, and must find each name to get to the error.
${[...names]
  .sort()
  .map((name) => `exports.${name} = undefined;`)
  .join('\n')}
`;
const types = `/** ${message} */
export {};
`;
writeFileSync(fileURLToPath(new URL('index.js', DIST)), code);
writeFileSync(fileURLToPath(new URL('index.d.ts', DIST)), types);
