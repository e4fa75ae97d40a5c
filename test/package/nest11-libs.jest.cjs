// Runs tests of the libs, from their sources, on another Nest than that of node_modules: on the one that is installed in the
// folder LUANEST_NEST_FOLDER.
const base = require('../../jest.config.js');

const folder = process.env.LUANEST_NEST_FOLDER;
if (folder === undefined) throw new Error('LUANEST_NEST_FOLDER must name a folder in which Nest is installed.');

/** @type {import('jest').Config} */
module.exports = {
  ...base,
  moduleNameMapper: {
    '^@nestjs/(common|core|platform-express|platform-fastify|testing)(/.*)?$': `${folder}/node_modules/@nestjs/$1$2`,
    '^(rxjs|reflect-metadata)(/.*)?$': `${folder}/node_modules/$1$2`,
    ...base.moduleNameMapper,
  },
  // Nest 11 has no ES modules; what a fresh folder has is left as it is.
  transformIgnorePatterns: [...base.transformIgnorePatterns, `^${folder}/`],
};
