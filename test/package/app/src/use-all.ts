import type { INestApplication } from '@nestjs/common';
import { useConsole } from './uses/console.js';
import { useDelayedTask } from './uses/delayed-task.js';
import { useLock } from './uses/lock.js';
import { useMetrics } from './uses/metrics.js';
import { useOnce } from './uses/once.js';
import { useOutbox } from './uses/outbox.js';
import { useRateLimit } from './uses/rate-limit.js';
import { useReadReward } from './uses/read-reward.js';
import { useRedPacket } from './uses/red-packet.js';
import { useScheduledLock } from './uses/scheduled-lock.js';
import { useScriptRegistry } from './uses/script-registry.js';
import { useStreamConsumer } from './uses/stream-consumer.js';
import { useThrottlerStorage } from './uses/throttler-storage.js';
import { useTransport } from './uses/transport.js';

/** One use of each door. */
export const uses: Record<string, (app: INestApplication, url: string) => Promise<string>> = {
  'script-registry': useScriptRegistry,
  'rate-limit': useRateLimit,
  'rate-limit/throttler-storage': useThrottlerStorage,
  lock: useLock,
  'scheduled-lock': useScheduledLock,
  once: useOnce,
  'read-reward': useReadReward,
  'delayed-task': useDelayedTask,
  'stream-consumer': useStreamConsumer,
  outbox: useOutbox,
  transport: useTransport,
  'red-packet': useRedPacket,
  metrics: useMetrics,
  console: useConsole,
};

/** Uses each door once, prints a line for each, and closes the app: the process must then end by itself. */
export async function useAll(app: INestApplication): Promise<void> {
  await app.listen(0, '127.0.0.1');
  const url = await app.getUrl();
  for (const [door, use] of Object.entries(uses)) process.stdout.write(`${door}: ${await use(app, url)}\n`);
  await app.close();
  process.stdout.write('closed\n');
}
