// Loads each door but those that are named by `import` and by `require`, and prints whether it has values.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { exports } = require('luanest/package.json');

for (const door of Object.keys(exports).filter(
  (name) => name !== '.' && name !== './package.json' && !process.argv.includes(name.slice(2)),
)) {
  const name = door.replace('.', 'luanest');
  const required = require(name);
  const imported = await import(name);
  const missing = Object.keys(required).filter((key) => imported[key] !== required[key]);
  if (missing.length > 0) throw new Error(`import of ${name} lacks ${missing.join(', ')}`);
  console.log(`${door.slice(2)} ${Object.keys(required).length > 0 ? 'loaded' : 'is empty'}`);
}
