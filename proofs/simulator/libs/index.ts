import type { Lib } from '../engine/world';
import { delayedTask } from './delayed-task';
import { lock } from './lock';
import { once } from './once';
import { rateLimit } from './rate-limit';
import { readReward } from './read-reward';
import { redPacket, replicatedPackets } from './red-packet';
import { scheduledLock } from './scheduled-lock';
import { scriptRegistry } from './script-registry';
import { streamConsumer } from './stream-consumer';
import { taskSchedules } from './task-schedules';

export const libs = [
  lock,
  once,
  delayedTask,
  taskSchedules,
  streamConsumer,
  scriptRegistry,
  rateLimit,
  readReward,
  scheduledLock,
  redPacket,
  replicatedPackets,
] as unknown as readonly Lib[];
