import type { Lib } from '../engine/world';
import { delayedTask } from './delayed-task';
import { lock } from './lock';
import { once } from './once';
import { outbox } from './outbox';
import { rateLimit } from './rate-limit';
import { readReward } from './read-reward';
import { redPacket, replicatedPackets } from './red-packet';
import { redPacketBuckets } from './red-packet-buckets';
import { scheduledLock } from './scheduled-lock';
import { scriptRegistry } from './script-registry';
import { streamConsumer } from './stream-consumer';
import { taskEvents } from './task-events';
import { taskSchedules } from './task-schedules';
import { transport } from './transport';

export const libs = [
  lock,
  once,
  delayedTask,
  taskSchedules,
  taskEvents,
  outbox,
  streamConsumer,
  transport,
  scriptRegistry,
  rateLimit,
  readReward,
  scheduledLock,
  redPacket,
  replicatedPackets,
  redPacketBuckets,
] as unknown as readonly Lib[];
