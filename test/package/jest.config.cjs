// The matrix of apps that the packed tarball is installed into: `npm run test:package`. It takes minutes and a registry, so
// it is apart from the other tests.
const base = require('../../jest.config.js');

/** @type {import('jest').Config} */
module.exports = {
  ...base,
  globalSetup: '<rootDir>/test/package/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/package/support/global-teardown.ts',
  testMatch: ['<rootDir>/test/package/*.matrix.ts'],
  reporters: ['default', '<rootDir>/test/package/support/table-reporter.cjs'],
  testTimeout: 240_000,
  // npm, compilers and bundlers are given as long as they take elsewhere, too.
  slowTestThreshold: 60,
};
