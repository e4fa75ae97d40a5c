// Floors and rooms, as ARCHITECTURE.md draws them: a floor imports only the floors below it, through their doors.
// What the libs share and users do not see: the package does not export it.
const floor0 = '^libs/internal/';
const floor1 = '^libs/(script-registry|worker)/';
// The engine of workers, which the package does not export either.
const worker = '^libs/worker/';
const floor2 = '^libs/(rate-limit|once|read-reward|lock|stream-consumer|delayed-task)/';
const floor3 = '^libs/(scheduled-lock|red-packet|outbox|transport)/';
// Next to the floors: it imports only types of the libs, and no lib imports it.
const metrics = '^libs/metrics/';
// Next to the floors: the page for operators. It imports script-registry and internal, and of other libs types.
const consolePath = '^libs/console/';
// Next to the floors, too: tests of users import it, and no lib does. It imports script-registry and internal, and of other libs types.
const testing = '^libs/testing/';
// The in-memory Redis, which imports nothing of luanest, so that it can be a package of its own. Only testing and the proofs use it.
const memoryRedis = '^libs/memory-redis/';
// The real servers for tests, which need no Nest.
const servers = '^libs/testing/src/servers/';
// The program luanest: a command line, which no lib imports.
const cli = '^libs/cli/';
// The app of Nest that `luanest console` loads when it is called. Its guard is next to it.
const consoleApp = '^libs/cli/src/console/(console-app|one-time-link)\\.ts$';
const app = '^(src|test|bench)/';
// A lib's door, and the doors of rooms that are a subpath of their own, since they need a peer of their own.
const doors = '^libs/([^/]+/src|rate-limit/src/throttler-storage|testing/src/servers)/index\\.ts$';
// What internal has for code that must not load Nest.
const withoutNest = '^libs/internal/src/without-nest\\.ts$';
// The lease of lock, which scheduled-lock uses too. Users do not see it.
const leaseForScheduledLock = '^libs/lock/src/internal\\.ts$';
// The connections of script-registry, which testing replaces, and what guards and interceptors inject. Users do not see them.
const partsForTesting = '^libs/(script-registry|rate-limit|once)/src/internal\\.ts$';

// Rooms of the app, the lowest first. Files next to the rooms (main, app.module, ...) put the app together.
const rooms = ['platform', 'visitors', 'ledger', 'monitoring', 'simulation'];

const above = (name, from, to) => ({
  name,
  severity: 'error',
  from: { path: from, pathNot: '/test/' },
  to: { path: to },
});

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    // A fresh clone has no build yet, and the peers of the benches are installed in bench/ when somebody measures.
    {
      name: 'not-to-unresolvable',
      severity: 'error',
      from: { pathNot: '^bench/' },
      to: { couldNotResolve: true, pathNot: '/dist/' },
    },
    {
      name: 'benches-import-files-that-are-there',
      severity: 'error',
      from: { path: '^bench/' },
      to: { path: '^\\.', pathNot: '/dist/', couldNotResolve: true },
    },
    {
      name: 'shipped-libs-need-no-dev-dependency',
      severity: 'error',
      from: { path: '^libs/[^/]+/src/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['npm-peer', 'type-only'] },
    },
    above('floor-0-imports-no-floor', floor0, `${floor1}|${floor2}|${floor3}|${metrics}|${testing}|${app}`),
    above('floor-1-imports-floor-0', floor1, `${floor2}|${floor3}|${metrics}|${testing}|${app}`),
    above('floor-2-imports-the-floors-below', floor2, `${floor3}|${metrics}|${testing}|${app}`),
    above('floor-3-imports-the-floors-below', floor3, `${metrics}|${testing}|${app}`),
    above('metrics-import-no-app', metrics, `${testing}|${app}`),
    above('testing-imports-no-app', testing, `${metrics}|${app}`),
    above('the-program-imports-no-app', cli, `${metrics}|${testing}|${app}`),
    {
      name: 'nothing-imports-the-program',
      severity: 'error',
      from: { path: '.', pathNot: cli },
      to: { path: cli },
    },
    {
      // It runs from any folder, and starts at once. The page of `luanest console` is an app of Nest.
      name: 'the-program-needs-no-nest',
      severity: 'error',
      from: { path: `${cli}src/`, pathNot: consoleApp },
      to: { path: '^libs/|^node_modules/@nestjs/', pathNot: [cli, withoutNest], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'only-luanest-console-loads-nest',
      severity: 'error',
      from: { path: `${cli}src/`, pathNot: consoleApp },
      // `require` runs when the command is called.
      to: { path: consoleApp, dependencyTypesNot: ['require', 'type-import', 'type-only'] },
    },
    {
      name: 'memory-redis-imports-nothing-of-luanest',
      severity: 'error',
      from: { path: `${memoryRedis}src/` },
      to: {
        path: '^libs/|^src/|^test/|^tools/|^proofs/|^node_modules/',
        pathNot: [memoryRedis, '^node_modules/(ioredis|@types/node)/'],
      },
    },
    {
      // Its tests compare it with a real server, and have a full size.
      name: 'memory-redis-tests-import-nothing-of-luanest',
      severity: 'error',
      from: { path: `${memoryRedis}test/` },
      to: { path: '^libs/|^src/|^test/|^tools/|^proofs/', pathNot: [memoryRedis, servers, '^test/support/size\\.ts$'] },
    },
    {
      name: 'only-testing-imports-memory-redis',
      severity: 'error',
      from: { path: '^(libs|src)/', pathNot: [memoryRedis, testing, '/test/'] },
      to: { path: memoryRedis },
    },
    {
      name: 'production-code-imports-no-testing',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.spec\\.ts$' },
      to: { path: testing },
    },
    {
      name: 'servers-need-no-nest',
      severity: 'error',
      from: { path: servers },
      // Types are not loaded.
      to: { path: '^libs/|^node_modules/@nestjs/', pathNot: [servers, withoutNest], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'only-workers-import-the-engine',
      severity: 'error',
      // red-packet: a payout run has the options of a worker. transport: decorators take the options of a worker.
      from: {
        path: '^libs/[^/]+/src/',
        pathNot: ['^libs/(delayed-task|stream-consumer|red-packet|transport)/', worker],
      },
      to: { path: worker },
    },
    {
      name: 'floor-2-libs-do-not-import-each-other',
      severity: 'error',
      from: { path: `${floor2}src/` },
      to: { path: floor2, pathNot: '^libs/$1/' },
    },
    {
      name: 'libs-only-through-their-door',
      severity: 'error',
      from: { path: '^libs/([^/]+)/', pathNot: '/test/' },
      to: {
        path: '^libs/[^/]+/src/',
        pathNot: ['^libs/$1/', doors, withoutNest, leaseForScheduledLock, partsForTesting],
      },
    },
    {
      name: 'leases-only-for-scheduled-lock',
      severity: 'error',
      from: { path: '.', pathNot: '^libs/(lock|scheduled-lock)/' },
      to: { path: leaseForScheduledLock },
    },
    {
      name: 'parts-only-for-testing',
      severity: 'error',
      from: { path: '.', pathNot: '^libs/(script-registry|testing)/' },
      to: { path: partsForTesting },
    },
    {
      name: 'testing-loads-other-libs-when-used',
      severity: 'error',
      from: { path: '^libs/testing/src/', pathNot: '^libs/testing/src/harness/(app-services|unit-tests)\\.ts$' },
      to: { path: `${floor2}|${floor3}`, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'app-only-through-doors',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^libs/[^/]+/src/', pathNot: doors },
    },
    { name: 'app-imports-no-internals', severity: 'error', from: { path: '^src/' }, to: { path: [floor0, worker] } },
    ...rooms.map((room, index) => ({
      name: `app-${room}-imports-the-rooms-below`,
      severity: 'error',
      from: { path: `^src/${room}/` },
      to: { path: '^src/', pathNot: `^src/(${rooms.slice(0, index + 1).join('|')})/` },
    })),
    {
      name: 'metrics-load-no-lib',
      severity: 'error',
      from: { path: '^libs/metrics/src/' },
      to: { path: `${floor2}|${floor3}`, dependencyTypesNot: ['type-only'] },
    },
    above('console-imports-no-app', consolePath, `${metrics}|${testing}|${app}`),
    {
      // The program shows the same sections.
      name: 'no-lib-imports-the-console',
      severity: 'error',
      from: { path: '^libs/', pathNot: [consolePath, cli, '/test/'] },
      to: { path: consolePath },
    },
    {
      name: 'console-loads-no-lib',
      severity: 'error',
      from: { path: '^libs/console/src/' },
      to: { path: `${floor2}|${floor3}`, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'only-metrics-need-opentelemetry',
      severity: 'error',
      from: { path: '^libs/[^/]+/src/', pathNot: metrics },
      to: { path: '^node_modules/@opentelemetry/' },
    },
    {
      // internal loads it when a message is refused.
      name: 'only-the-transport-needs-microservices',
      severity: 'error',
      from: { path: '^libs/[^/]+/src/', pathNot: ['^libs/transport/', '^libs/internal/src/rpc-exception.ts$'] },
      to: { path: '^node_modules/@nestjs/microservices/' },
    },
    {
      name: 'only-the-storage-needs-throttler',
      severity: 'error',
      from: { path: '^libs/[^/]+/src/', pathNot: '^libs/rate-limit/src/throttler-storage/' },
      to: { path: '^libs/rate-limit/src/throttler-storage/|^node_modules/@nestjs/throttler/' },
    },
    {
      name: 'edge-never-touches-redis',
      severity: 'error',
      from: { path: '\\.(guard|controller|interceptor|decorator)\\.ts$' },
      to: { path: '\\.scripts\\.ts$|^node_modules/ioredis' },
    },
    {
      name: 'only-scripts-know-the-lua',
      severity: 'error',
      from: { path: '^libs/[^/]+/src/', pathNot: '\\.scripts\\.ts$' },
      to: { path: '/scripts/generated\\.ts$' },
    },
    {
      name: 'leaves-stay-leaves',
      severity: 'error',
      from: { path: '\\.errors\\.ts$' },
      to: { path: '\\.(service|module|controller|guard)\\.ts$' },
    },
    {
      name: 'shipped-code-knows-no-tests',
      severity: 'error',
      from: { path: '^(libs/[^/]+/src|src)/' },
      to: { path: '^test/|/test/|\\.spec\\.ts$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // The second is what runs in the apps that test/package makes, where the bundlers are installed.
    exclude: { path: '^dist/|^examples/[^/]+/(dist|node_modules)/|^test/package/app/bundle/' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: 'specify',
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
