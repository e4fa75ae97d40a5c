import { Pulse } from '../../../test/support/pulse';
import type { Span } from '../../../test/support/takeovers';

/** A pulse that sees what the ticks of short periods notice; `processes/slots-node.cjs` looks as sharply at itself. */
export function quickPulse(url: string): Pulse {
  return new Pulse(url, { now: Date.now, everyMs: 10, stallMs: 30 });
}

/**
 * Returns true if a slot may be lost although its timer fired: a tick that meets the run before it looks again until its period
 * is over, which nobody can who stands still.
 */
export function excused(stalls: readonly Span[], slot: number, periodMs: number): boolean {
  const [from, to] = [slot - periodMs / 2, slot + periodMs];
  return stalls.some((stall) => stall[1] - stall[0] > periodMs / 8 && stall[0] < to && stall[1] > from);
}
