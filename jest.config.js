// Nest 12 ships ES modules, which Jest on Node 20 cannot `require`: they (and the ES modules that
// they pull in) are transformed to CommonJS like our own files.
const esmPackages = [
  '@nestjs',
  'file-type',
  'load-esm',
  'uint8array-extras',
  'strtok3',
  'token-types',
  '@tokenizer',
  '@borewit',
  '@electric-sql',
  'cookie',
  'content-disposition',
];

/** @type {import('jest').Config} */
module.exports = {
  rootDir: __dirname,
  testEnvironment: '<rootDir>/test/support/jest-environment.cjs',
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  testMatch: [
    '<rootDir>/libs/*/test/**/*.spec.ts',
    '<rootDir>/src/**/*.spec.ts',
    '<rootDir>/test/**/*.spec.ts',
    '<rootDir>/tools/**/*.spec.ts',
    '<rootDir>/proofs/**/*.spec.ts',
    '<rootDir>/examples/**/*.test.ts',
  ],
  moduleFileExtensions: ['ts', 'js', 'mjs', 'cjs', 'json'],
  moduleNameMapper: {
    ...(process.env.LUANEST_TEST_CLIENT && {
      '^\\.{1,2}/(src/)?connection/connect$': '<rootDir>/test/support/twin-connect.ts',
    }),
    '^luanest/([^/]+)$': '<rootDir>/libs/$1/src/index.ts',
    '^luanest/([^/]+)/([^/]+)$': '<rootDir>/libs/$1/src/$2/index.ts',
    '^(\\.{1,2}/.*)\\.js$': '$1',
  },
  transform: {
    '^.+\\.(ts|js|mjs|cjs)$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
          keepClassNames: true,
        },
        module: { type: 'commonjs' },
      },
    ],
  },
  // A package may also lie in the node_modules of another one.
  transformIgnorePatterns: [`/node_modules/(?!(.*/node_modules/)?(${esmPackages.join('|')})/)`],
  modulePathIgnorePatterns: ['<rootDir>/dist/'],
  // Suites that start and kill servers, apps and browsers of their own run in `npm run test:faults`. See test/README.md.
  testPathIgnorePatterns: [
    '/node_modules/',
    ...(process.env.LUANEST_LONG === '1' ? [] : ['\\.(slow|long)\\.spec\\.ts$']),
  ],
  // Generated files are Lua as text, and what only re-exports runs in every test.
  collectCoverageFrom: ['libs/*/src/**/*.ts', 'src/**/*.ts', '!**/scripts/generated.ts', '!**/index.ts'],
  coverageDirectory: '<rootDir>/coverage',
  // Long versions run next to five other suites, and a test that runs into its limit goes on next to the next one.
  testTimeout: process.env.LUANEST_LONG === '1' ? 900_000 : 90_000,
  // Many tests wait: for leases, processes and failovers. So more workers than the two cores that CI has.
  maxWorkers: 6,
  // What suites leave behind in a worker's heap would make its later ones slow.
  workerIdleMemoryLimit: '1GB',
};
