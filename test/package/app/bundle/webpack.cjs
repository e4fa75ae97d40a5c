// node webpack.cjs <entry> <outfile>
const { basename, dirname, resolve } = require('node:path');
const webpack = require('webpack');
const { absent } = require('./absent.cjs');

const [entry, outfile] = process.argv.slice(2);

webpack(
  {
    mode: 'production',
    target: 'node20',
    entry: resolve(entry),
    output: { path: resolve(dirname(outfile)), filename: basename(outfile) },
    externalsPresets: { node: true },
    externals: [({ request }, done) => (absent().includes(request) ? done(null, `commonjs ${request}`) : done())],
    optimization: { minimize: false },
    // Nest and Express require modules by names that are known only at run time.
    module: { exprContextCritical: false },
  },
  (error, stats) => {
    if (error) throw error;
    const { errors } = stats.toJson({ all: false, errors: true });
    for (const { moduleName, message } of errors) console.error(`${moduleName}: ${message}`);
    process.exitCode = errors.length > 0 ? 1 : 0;
  },
);
