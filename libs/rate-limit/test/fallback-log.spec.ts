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
const ENDED = 'log Redis decides the rate limits again.';

it('logs once when the fallback begins, and once when it ends', () => {
  for (let i = 0; i < 50; i++) log.failed('local', lost);
  expect(lines).toEqual([
    "warn Redis does not decide the rate limits now. Until it does, this process counts by itself, so each process allows the whole limit (onRedisError: 'local'). Error: no reply",
  ]);
  nowMs = 1_000;
  log.succeeded();
  log.succeeded();
  expect(lines.slice(1)).toEqual([ENDED]);
  log.failed('deny', lost);
  log.failed('deny', lost);
  expect(lines[2]).toMatch(/all requests are refused \(onRedisError: 'deny'\)/);
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
