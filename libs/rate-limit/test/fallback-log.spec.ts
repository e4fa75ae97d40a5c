import { Logger } from '@nestjs/common';
import { FallbackLog } from '../src/limiter/fallback-log';

const lines: string[] = [];
let nowMs = 0;
let log: FallbackLog;

beforeEach(() => {
  lines.length = 0;
  nowMs = 0;
  log = new FallbackLog(() => nowMs);
  for (const level of ['warn', 'log'] as const) {
    jest
      .spyOn(Logger.prototype, level)
      .mockImplementation((...[line]: unknown[]) => void lines.push(`${level} ${String(line)}`));
  }
});
afterEach(() => jest.restoreAllMocks());

const lost = new Error('no reply');
const ENDED = 'log Redis replies again, so the rate limits are counted in Redis again.';

it('logs once when the fallback begins, and once when it ends', () => {
  for (let i = 0; i < 50; i++) log.failed('local', lost);
  expect(lines).toEqual([
    "warn Calls to Redis fail, so this process counts in its own memory, so each process allows the whole limit (onRedisError: 'local'). This ends when Redis replies again. The last error: Error: no reply",
  ]);
  nowMs = 1_000;
  log.succeeded();
  log.succeeded();
  expect(lines.slice(1)).toEqual([ENDED]);
  log.failed('deny', lost);
  log.failed('deny', lost);
  expect(lines[2]).toMatch(/this process refuses all requests \(onRedisError: 'deny'\)/);
});

it('does not log a single late reply', () => {
  for (let i = 0; i < 10; i++) {
    log.failed('allow', lost);
    log.succeeded();
  }
  expect(lines).toEqual([]);
});

it('logs failures that alternate with replies as one fallback', () => {
  log.failed('allow', lost);
  for (let i = 0; i < 10; i++) {
    log.failed('allow', lost);
    nowMs += 999;
    log.succeeded();
  }
  expect(lines).toHaveLength(1);
  nowMs += 1;
  log.succeeded();
  expect(lines.slice(1)).toEqual([ENDED]);
});
