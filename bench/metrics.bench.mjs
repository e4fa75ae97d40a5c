// Cost of metrics: the same service without luanest/metrics, and with each of its settings.
import { createRequire } from 'node:module';
import { measure, rounds, row, startRedis } from './harness.mjs';

const require = createRequire(import.meta.url);
const { Redis } = require('ioredis');
const { BasicTracerProvider, BatchSpanProcessor } = require('@opentelemetry/sdk-trace-base');
const { MeterProvider, PeriodicExportingMetricReader } = require('@opentelemetry/sdk-metrics');
const { Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { ScriptRegistryModule } = require('../dist/libs/script-registry/src/index.js');
const { RateLimitModule, RateLimitService } = require('../dist/libs/rate-limit/src/index.js');
const { startMetrics } = require('../dist/libs/metrics/src/index.js');

const ROUNDS = 7;
const SUBJECTS = 10_000;
/** Deadline of a check, ms. It is long, because a late check is decided without Redis and costs less. */
const DEADLINE_MS = 60_000;
const RULE = { name: 'bench', limit: 1_000_000, windowMs: 3_600_000 };

const nowhere = {
  export: (_, done) => done({ code: 0 }),
  forceFlush: () => Promise.resolve(),
  shutdown: () => Promise.resolve(),
};

function settings() {
  const reader = new PeriodicExportingMetricReader({ exporter: nowhere, exportIntervalMillis: 1_000 });
  const providers = {
    meterProvider: new MeterProvider({ readers: [reader] }),
    tracerProvider: new BasicTracerProvider({ spanProcessors: [new BatchSpanProcessor(nowhere)] }),
  };
  return {
    luanest: () => startMetrics(providers),
    'without metrics': () => ({ stop: () => undefined }),
    'with calls': () => startMetrics({ ...providers, calls: true }),
    'with spans': () => startMetrics({ ...providers, spans: true }),
  };
}

export async function run(print) {
  const server = await startRedis();
  const client = new Redis(server.port, '127.0.0.1');
  class App {}
  Module({
    imports: [
      ScriptRegistryModule.forRoot({ client, preload: 'required' }),
      RateLimitModule.forRoot({ deadlineMs: DEADLINE_MS }),
    ],
  })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const limits = app.get(RateLimitService);
  const contenders = Object.fromEntries(
    Object.entries(settings()).map(([name, start]) => [
      name,
      async (calls, inFlight) => {
        const running = start();
        const figures = await measure(
          async (i) => {
            const { source } = await limits.consume(RULE, `subject-${i % SUBJECTS}`);
            if (source !== 'redis') throw new Error(`decided by ${source}`);
          },
          calls,
          inFlight,
        );
        running.stop();
        return figures;
      },
    ]),
  );
  const compete = (calls, inFlight, count) =>
    rounds(
      count,
      Object.fromEntries(Object.entries(contenders).map(([name, go]) => [name, () => go(calls, inFlight)])),
      () => client.flushall(),
    );
  await compete(50_000, 512, 1);
  const rows = [];
  for (const [name, calls, inFlight] of [
    ['metrics-512', 200_000, 512],
    ['metrics-1', 10_000, 1],
  ]) {
    const added = row(name, 'µs CPU', await compete(calls, inFlight, ROUNDS), (figure) => figure.cpuMicros, true);
    rows.push(added);
    const peers = Object.entries(added.peers).map(([who, value]) => `${value} ${who}`);
    print(`${added.case}: ${added.luanest} ${added.unit} a check with metrics; ${peers.join(', ')}`);
  }
  await app.close();
  client.disconnect();
  server.stop();
  return rows;
}
