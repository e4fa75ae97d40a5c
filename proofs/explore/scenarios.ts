import type { Protocol } from './engine/protocol';
import { lockScenarios } from './protocols/lock';
import { onceScenarios } from './protocols/once';
import { rateLimitScenarios } from './protocols/rate-limit';
import { delayedTaskScenarios } from './protocols/delayed-task';
import { scheduledLockScenarios } from './protocols/scheduled-lock';
import { streamConsumerScenarios } from './protocols/stream-consumer';
import { redPacketScenarios } from './protocols/red-packet';
import { readRewardScenarios } from './protocols/read-reward';
import { registryScenarios } from './protocols/registry';

/** All scenarios, in the order of the report. */
export const scenarios: readonly Protocol[] = [
  ...lockScenarios,
  ...onceScenarios,
  ...rateLimitScenarios,
  ...delayedTaskScenarios,
  ...scheduledLockScenarios,
  ...streamConsumerScenarios,
  ...redPacketScenarios,
  ...readRewardScenarios,
  ...registryScenarios,
].map(anyState);

/** A protocol only ever gets states that it made itself. */
function anyState<State>(protocol: State): Protocol {
  return protocol as unknown as Protocol;
}
