// node esbuild.cjs <entry> <outfile> <cjs | esm>
const { build } = require('esbuild');
const { absent } = require('./absent.cjs');

const [entry, outfile, format] = process.argv.slice(2);
const require_ = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";

build({
  entryPoints: [entry],
  outfile,
  format,
  bundle: true,
  minify: true,
  platform: 'node',
  target: 'node20',
  external: absent(),
  ...(format === 'esm' && { banner: { js: require_ } }),
}).catch(() => process.exit(1));
