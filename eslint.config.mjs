import eslint from '@eslint/js';
import prettier from 'eslint-config-prettier';
import tseslint from 'typescript-eslint';

// The path compiles, but the package does not export it.
const INTERNAL_BY_PATH = [
  { name: 'luanest/internal', message: 'Import ../../internal/src.' },
  { name: 'luanest/worker', message: 'Import ../../worker/src.' },
];
const TIME_ADVICE = 'Use time, pause or nextTurn of libs/internal; measuredMs for durations that are only measured.';

export default tseslint.config(
  // The apps of cli's tests are written as users write theirs.
  {
    ignores: [
      'dist/',
      'examples/*/dist/',
      'node_modules/',
      'coverage/',
      'data/',
      'libs/cli/test/apps/',
      'libs/console/src/assets/',
      'site/dist/',
      'site/pages/',
      '**/generated.ts',
      'jest.config.js',
      '**/*.cjs',
    ],
  },
  eslint.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/prefer-nullish-coalescing': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
      '@typescript-eslint/consistent-type-imports': [
        'error',
        { fixStyle: 'inline-type-imports', disallowTypeAnnotations: false },
      ],
      'no-console': 'error',
      eqeqeq: ['error', 'always', { null: 'ignore' }],
      'no-restricted-imports': ['error', ...INTERNAL_BY_PATH],
    },
  },
  {
    // Nest reads constructor types at run time, so a class that is injected may not be a type-only import.
    files: ['**/*.controller.ts', '**/*.service.ts', '**/*.module.ts', '**/*.guard.ts'],
    rules: { '@typescript-eslint/consistent-type-imports': 'off' },
  },
  // See ARCHITECTURE.md: Rules.
  { files: ['libs/*/src/**/*.ts', 'src/**/*.ts'], rules: { 'max-lines': ['error', 400] } },
  {
    // Tests move the time of the libs. See libs/internal/DECISIONS.md: one-source-of-time
    files: ['libs/*/src/**/*.ts'],
    // The registry's deadlines, pace and measurements of commands are real, and so is the time behind a clock for tests.
    ignores: [
      'libs/internal/src/time.ts',
      'libs/script-registry/src/**',
      'libs/testing/src/**',
      'libs/memory-redis/src/**',
    ],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval', 'setImmediate', 'performance'].map(
          (name) => ({
            name,
            message: TIME_ADVICE,
          }),
        ),
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: TIME_ADVICE },
        { object: 'AbortSignal', property: 'timeout', message: TIME_ADVICE },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: TIME_ADVICE },
      ],
      'no-restricted-imports': [
        'error',
        {
          paths: [
            ...INTERNAL_BY_PATH,
            ...['timers', 'node:timers', 'perf_hooks', 'node:perf_hooks'].map((name) => ({
              name,
              message: TIME_ADVICE,
            })),
            ...['timers/promises', 'node:timers/promises'].map((name) => ({
              name,
              // A turn of the event loop does not wait for a time.
              allowImportNames: ['setImmediate'],
              message: TIME_ADVICE,
            })),
          ],
        },
      ],
    },
  },
  {
    // The kit sees of a service what its [INSPECT] returns. See libs/testing/DECISIONS.md: services-show-what-the-kit-needs
    files: ['libs/testing/src/**/*.ts'],
    // Private parts of @nestjs/schedule.
    ignores: ['libs/testing/src/clock/nest-schedule.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: 'TSAsExpression > TSAsExpression > TSUnknownKeyword',
          message: 'Do not cast to private parts. Let the service return what you need from its method [INSPECT].',
        },
      ],
    },
  },
  {
    // The app's settings are checked once, at its start.
    files: ['src/**/*.ts'],
    ignores: ['src/platform/config/**'],
    rules: {
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'Take settings from AppConfig (src/platform/config/config.ts).',
        },
      ],
      'no-restricted-imports': [
        'error',
        {
          name: 'node:process',
          importNames: ['env'],
          message: 'Take settings from AppConfig (src/platform/config/config.ts).',
        },
      ],
    },
  },
  {
    // What browsers load, as it is.
    files: ['src/visitors/pages/public/*.js', 'libs/console/page/**/*.js'],
    languageOptions: {
      globals: {
        AbortController: 'readonly',
        scrollTo: 'readonly',
        ResizeObserver: 'readonly',
        HTMLElement: 'readonly',
        getComputedStyle: 'readonly',
        EventSource: 'readonly',
        clearTimeout: 'readonly',
        addEventListener: 'readonly',
        AbortSignal: 'readonly',
        crypto: 'readonly',
        document: 'readonly',
        fetch: 'readonly',
        history: 'readonly',
        HTMLButtonElement: 'readonly',
        localStorage: 'readonly',
        location: 'readonly',
        matchMedia: 'readonly',
        navigator: 'readonly',
        performance: 'readonly',
        sessionStorage: 'readonly',
        clearInterval: 'readonly',
        setInterval: 'readonly',
        setTimeout: 'readonly',
        TextDecoderStream: 'readonly',
        URLSearchParams: 'readonly',
      },
    },
  },
  {
    files: ['**/*.mjs'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        performance: 'readonly',
        setTimeout: 'readonly',
        setImmediate: 'readonly',
        clearTimeout: 'readonly',
        URL: 'readonly',
        Buffer: 'readonly',
      },
    },
  },
  {
    files: ['**/*.spec.ts', '**/*.e2e-spec.ts', 'test/**/*.ts'],
    rules: { '@typescript-eslint/no-unsafe-assignment': 'off', '@typescript-eslint/no-unsafe-member-access': 'off' },
  },
  prettier,
);
