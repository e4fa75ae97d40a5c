// Parses the bodies of all scripts of the libs as the in-memory server does, and writes their SHA1 hashes to dist, so that no
// test of a user parses them at boot. Fails if a body does not compile. Run it after the build of the libs.
import { createHash } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
const LIBS = fileURLToPath(new URL('../dist/libs/', import.meta.url));
const { ScriptCodec } = require(`${LIBS}script-registry/src/pipe/script-codec.js`);
const { compile } = require(`${LIBS}memory-redis/src/lua/compiler.js`);
const { readShebang } = require(`${LIBS}memory-redis/src/scripting/shebang.js`);

const definitions = readdirSync(LIBS, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.scripts.js'))
  .flatMap((path) => Object.values(require(LIBS + path)))
  .flatMap((exported) => Object.values(Object(exported)))
  .filter((value) => typeof value?.source === 'string' && Array.isArray(value.keys));

const hashes = new Set();
for (const definition of new Set(definitions)) {
  for (const { body, sha } of new ScriptCodec(definition, true).forms) {
    const bytes = Buffer.from(body).toString('latin1');
    compile(readShebang(bytes).code);
    hashes.add(createHash('sha1').update(bytes, 'latin1').digest('hex'));
    if (!hashes.has(sha)) throw new Error(`The SHA1 of a body of ${definition.name} differs`);
  }
}
if (hashes.size === 0) throw new Error('dist has no scripts');

const code = `"use strict";
Object.defineProperty(exports, "__esModule", { value: true });
exports.CHECKED_BODIES = new Set(${JSON.stringify([...hashes].sort(), undefined, 1)});
`;
writeFileSync(`${LIBS}memory-redis/src/scripting/checked-bodies.js`, code);
