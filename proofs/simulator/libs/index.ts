import type { Lib } from '../engine/world';
import { delayedTask, taskTakes } from './delayed-task';
import { lock } from './lock';
import { once } from './once';
import { outbox } from './outbox';
import { limitResets, rateLimit } from './rate-limit';
import { readReward } from './read-reward';
import { redPacket, replicatedPackets } from './red-packet';
import { packetMoves, redPacketBuckets } from './red-packet-buckets';
import { catchUps, scheduledLock } from './scheduled-lock';
import { scriptRegistry } from './script-registry';
import { streamCloses, streamConsumer, streamGroups } from './stream-consumer';
import { taskEvents } from './task-events';
import { taskSchedules } from './task-schedules';
import { transport } from './transport';

export const libs = [
  lock,
  once,
  delayedTask,
  taskTakes,
  taskSchedules,
  taskEvents,
  outbox,
  streamConsumer,
  streamCloses,
  streamGroups,
  transport,
  scriptRegistry,
  rateLimit,
  limitResets,
  readReward,
  scheduledLock,
  catchUps,
  redPacket,
  replicatedPackets,
  redPacketBuckets,
  packetMoves,
] as unknown as readonly Lib[];
